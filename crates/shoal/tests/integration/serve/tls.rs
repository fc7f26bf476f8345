//! The server over TLS: certificates made by openssl, or keys; clients of libnbd and QEMU, which
//! have GnuTLS.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::serve::is_there;
use crate::serve::served::{Served, tool};
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
    let refused = Command::new("timeout").args(["300", "nbdinfo", &uri(&served, &stranger)]).output().unwrap();
    assert!(!refused.status.success(), "a stranger was let in");
    served.stopped();
}

#[test]
fn an_address_of_other_machines_needs_more_than_a_server_s_certificate() {
    let bay = Bay::new(2);
    bay.done(&format!("create --level 0 --chunk 64K {}", names(0..2)));
    let line = |extra: &str| format!("serve --nbd tcp:0.0.0.0:0 --tls-certificates pki {extra} {}", names(0..2));
    bay.refused(&line(""), 3, &["anybody could read and write", "--tls-verify-peer", "--tls-psk", "--allow-strangers"]);
    // What is asked for by name goes on to the certificates, which are not there.
    bay.refused(&line("--allow-strangers"), 1, &["server-cert.pem"]);
    bay.refused(&line("--tls-verify-peer"), 1, &["server-cert.pem"]);
}

const ALICES: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
const BOBS: &str = "fedcba9876543210fedcba9876543210";

/// Whether nbdinfo is told anything, as a user with the keys of a file.
fn is_told(served: &Served, user: &str, keys: &Path) -> bool {
    let socket = served.socket().display();
    let uri = format!("nbds+unix://{user}@/?socket={socket}&tls-psk-file={}", keys.display());
    Command::new("timeout").args(["300", "nbdinfo", &uri]).output().unwrap().status.success()
}

/// The same for QEMU, which wants a directory.
fn qemu_is_told(bay: &Bay, served: &Served, user: &str, keys: &Path) -> bool {
    let directory = bay.path(&format!("keys-of-{user}"));
    std::fs::create_dir(&directory).unwrap();
    std::fs::copy(keys, directory.join("keys.psk")).unwrap();
    let object = format!("tls-creds-psk,id=t,endpoint=client,username={user},dir={}", directory.display());
    let image = format!("driver=nbd,server.type=unix,server.path={},tls-creds=t", served.socket().display());
    let arguments = ["300", "qemu-img", "info", "--object", &object, "--image-opts", &image];
    Command::new("timeout").args(arguments).output().unwrap().status.success()
}

#[test]
fn needs_nbdcopy_who_knows_a_key_is_let_in_and_nobody_else() {
    if !is_there("nbdcopy", "libnbd-bin") {
        return;
    }
    let bay = Bay::new(2);
    bay.done(&format!("create --level 0 --chunk 64K {}", names(0..2)));
    let image = pattern(3_000_000, 5);
    bay.write(&format!("write {}", names(0..2)), &image);
    let keys = bay.path("keys.psk");
    std::fs::write(&keys, format!("alice:{ALICES}\nbob:{BOBS}\n")).unwrap();
    std::fs::set_permissions(&keys, Permissions::from_mode(0o600)).unwrap();
    let served = Served::start(&bay, &format!("--tls-psk keys.psk {}", names(0..2)));
    let (socket, copy) = (served.socket().display().to_string(), bay.path("copy"));
    for user in ["alice", "bob"] {
        let uri = format!("nbds+unix://{user}@/?socket={socket}&tls-psk-file={}", keys.display());
        tool("nbdcopy", &[&uri, copy.to_str().unwrap()]);
        assert!(std::fs::read(&copy).unwrap().starts_with(&image), "{user} read something else");
        tool("nbdcopy", &["--flush", copy.to_str().unwrap(), &uri]);
    }
    assert!(is_told(&served, "alice", &keys));
    let wrong = bay.path("wrong.psk");
    std::fs::write(&wrong, format!("alice:{BOBS}\ncarol:{ALICES}\n")).unwrap();
    assert!(!is_told(&served, "alice", &wrong), "another key was taken for alice's");
    assert!(!is_told(&served, "carol", &wrong), "a stranger was let in");
    let plain = Command::new("timeout").args(["300", "nbdinfo", &served.uri("")]).output().unwrap();
    assert!(!plain.status.success(), "it was told without TLS");
    if is_there("qemu-img", "qemu-utils") {
        assert!(qemu_is_told(&bay, &served, "bob", &keys), "QEMU was not let in");
        assert!(!qemu_is_told(&bay, &served, "alice", &wrong), "QEMU's wrong key was taken");
    }
    // Strangers cost nobody anything.
    assert!(is_told(&served, "bob", &keys));
    served.stopped();
    assert!(bay.done(&format!("read {}", names(0..2))).stdout.starts_with(&image));
}
