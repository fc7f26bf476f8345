//! The server over TLS: certificates made by openssl, clients of libnbd, which has GnuTLS.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::is_there;
use crate::served::{Served, tool};
use crate::support::{Bay, names, pattern};

/// An authority, and certificates of a server and a client, in nbdkit's layout.
fn certificates(bay: &Bay) -> PathBuf {
    let directory = bay.path("pki");
    std::fs::create_dir(&directory).unwrap();
    let openssl = |arguments: &str| {
        let output = Command::new("openssl").args(arguments.split(' ')).current_dir(&directory).output().unwrap();
        assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(&format!("req -x509 {key} -keyout ca-key.pem -out ca-cert.pem -subj /CN=shoal -days 2"));
    std::fs::write(directory.join("names"), "subjectAltName=DNS:localhost,IP:127.0.0.1").unwrap();
    for who in ["server", "client"] {
        openssl(&format!("req {key} -keyout {who}-key.pem -out {who}.csr -subj /CN=localhost"));
        openssl(&format!(
            "x509 -req -in {who}.csr -CA ca-cert.pem -CAkey ca-key.pem -CAcreateserial -out {who}-cert.pem -days 2 \
             -extfile names"
        ));
    }
    directory
}

/// What libnbd calls a server with TLS.
fn uri(served: &Served, certificates: &Path) -> String {
    format!("nbds://localhost:{}/?tls-certificates={}", served.port(), certificates.display())
}

#[test]
fn needs_nbdcopy_and_openssl_content_is_served_over_tls_and_not_without() {
    if !is_there("nbdcopy", "libnbd-bin") || !is_there("openssl", "openssl") {
        return;
    }
    let bay = Bay::new(3);
    bay.done(&format!("create --level 5 --chunk 64K {}", names(0..3)));
    let image = pattern(6_000_000, 3);
    bay.write(&format!("write {}", names(0..3)), &image);
    let directory = certificates(&bay);
    let serve = |extra: &str| {
        let line = format!("--tls-certificates pki {extra} {}", names(0..3));
        Served::start_at(&bay, "tcp:localhost:0", bay.path("none"), &line)
    };
    let served = serve("");
    let copy = bay.path("copy");
    tool("nbdcopy", &[&uri(&served, &directory), copy.to_str().unwrap()]);
    assert!(std::fs::read(&copy).unwrap().starts_with(&image));
    let other = pattern(5_000_000, 4);
    std::fs::write(&copy, &other).unwrap();
    tool("nbdcopy", &[copy.to_str().unwrap(), &uri(&served, &directory)]);
    let plain = format!("nbd://localhost:{}", served.port());
    let refused = Command::new("nbdinfo").arg(&plain).output().unwrap();
    assert!(!refused.status.success(), "it was told without TLS");
    served.stopped();
    assert!(bay.done(&format!("read {}", names(0..3))).stdout.starts_with(&other));

    // Whoever has no certificate of the authority's stays outside, if that is wanted.
    let served = serve("--tls-verify-peer");
    tool("nbdinfo", &[&uri(&served, &directory)]);
    let stranger = bay.path("stranger");
    std::fs::create_dir(&stranger).unwrap();
    std::fs::copy(directory.join("ca-cert.pem"), stranger.join("ca-cert.pem")).unwrap();
    let refused = Command::new("timeout").args(["60", "nbdinfo", &uri(&served, &stranger)]).output().unwrap();
    assert!(!refused.status.success(), "a stranger was let in");
    served.stopped();
}
