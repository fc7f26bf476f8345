//! Who comes in, and how: addresses of version 6, strangers, passwords in the clear and under TLS;
//! with clients that others wrote, at the other end of a cable.

use super::POND;
use super::machine::Machine;

/// The other machine at an address that is not local.
const STRANGER: &str = "
ip route add 203.0.113.0/24 dev near
far ip address add 203.0.113.9/24 dev far
far ip route replace 10.77.0.0/24 dev far src 203.0.113.9
";

#[test]
fn needs_root_strangers_are_not_let_in() {
    let Some(machine) = Machine::start(&["smbd", "smbclient", "ganesha.nfsd", "nfs-cat", "vsftpd", "curl"]) else {
        return;
    };
    machine.done(POND);
    machine.done("shoal share pond --smb --nfs --ftp --user anna --nfs-server ganesha --password-file passwords");
    machine.done("echo heron >pond/x; chown 612345:612345 pond/x");
    // Without a password, or with a wrong one.
    for (client, why) in [
        ("smbclient //10.77.0.1/pond -N -c ls", "ACCESS_DENIED"),
        ("smbclient //10.77.0.1/pond -U anna%pike -c ls", "LOGON_FAILURE"),
        ("smbclient -L 10.77.0.1 -N", "ACCESS_DENIED"),
        ("curl -sS ftp://10.77.0.1/x", "530"),
        ("curl -sS -u anna:pike ftp://10.77.0.1/x", "530"),
    ] {
        let (code, text) = machine.run(&format!("far {client}"));
        assert!(code != 0 && text.contains(why), "{client}: {code}: {text}");
    }
    let clients = [
        "smbclient //10.77.0.1/pond -U anna%otter -c 'get x back'",
        "curl -sS -m 10 -u anna:otter ftp://10.77.0.1/x -o back",
        "nfs-cat 'nfs://10.77.0.1/pond/x?version=4'",
    ];
    for client in clients {
        machine.done(&format!("far {client}"));
    }
    machine.done(STRANGER);
    for client in clients {
        let (code, text) = machine.run(&format!("far timeout 20 {client}"));
        assert!(code != 0 && !text.contains("heron"), "{client}: {text}");
    }
}

/// Addresses of version 6 alone, that no packet crosses the internet with.
const VERSION_6: &str = "
ip address del 10.77.0.1/24 dev near
ip address add fd77::1/64 dev near nodad
far ip address add fd77::2/64 dev far nodad
ip route add fd99::/64 dev near
";

#[test]
fn needs_root_addresses_of_version_6_will_do() {
    let Some(machine) = Machine::start(&["smbd", "smbclient", "ganesha.nfsd", "vsftpd", "curl"]) else { return };
    machine.done(POND);
    machine.done(VERSION_6);
    let text =
        machine.done("shoal share pond --smb --nfs --ftp --user anna --nfs-server ganesha --password-file passwords");
    for line in [
        "mount -t cifs //fd77::1/pond /mnt",
        r"net use * \\fd77--1.ipv6-literal.net\pond",
        "smb://anna@[fd77::1]/pond",
        "mount -t nfs4 '[fd77::1]:/pond' /mnt",
        "lftp -u anna '[fd77::1]'",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!machine.done("ss -ltn").contains("*:"), "a server listens at all addresses");
    let clients = [
        "smbclient //fd77::1/pond -U anna%otter -c 'put passwords x'",
        "curl -sS -m 10 -u anna:otter 'ftp://[fd77::1]/x' -o back",
        "lftp -u anna,otter -e 'set net:max-retries 1; set net:timeout 10; cat x; bye' '[fd77::1]'",
    ];
    for client in clients {
        machine.done(&format!("far {client}"));
    }
    machine.done(
        "far ip address del fd77::2/64 dev far
far ip address add fd99::2/64 dev far nodad
far ip route add fd77::/64 dev far src fd99::2",
    );
    for client in clients {
        let (code, text) = machine.run(&format!("far timeout 20 {client}"));
        assert!(code != 0, "{client}: {text}");
    }
}

/// An authority, a certificate of it for the machine's address, and a key that belongs to another
/// one.
const CERTIFICATES: &str = "
mkdir certs wrong
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=authority \
    -keyout authority.pem -out certs/ca-cert.pem
openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=pond -keyout certs/server-key.pem -out request.pem
printf 'subjectAltName=IP:10.77.0.1\n' >names
openssl x509 -req -in request.pem -CA certs/ca-cert.pem -CAkey authority.pem -CAcreateserial -days 2 -extfile names \
    -out certs/server-cert.pem
cp certs/server-cert.pem wrong
cp authority.pem wrong/server-key.pem
";

#[test]
fn needs_root_ftp_is_encrypted_where_there_is_a_certificate() {
    let Some(machine) = Machine::start(&["vsftpd", "curl", "lftp", "openssl"]) else { return };
    machine.done(POND);
    machine.done(&format!("exec >certificates.log 2>&1\n{CERTIFICATES}"));
    let share = "shoal share pond --ftp --user anna --password-file passwords";
    for (arguments, status, why) in [
        ("--tls-certificates wrong", 2, "server-key.pem"),
        ("--tls-certificates none", 2, "none: No such file"),
        ("--network 203.0.113.0/24 --allow-public", 3, "in the clear through 203.0.113.0/24"),
        ("--network fe80::/64", 3, "name of an interface"),
    ] {
        let (code, text) = machine.run(&format!("{share} {arguments}"));
        assert!(code == status && text.contains(why) && text.lines().count() == 1, "{arguments}: {code}: {text}");
    }
    let text = machine.done(&format!("{share} --tls-certificates certs"));
    assert!(!text.contains("in the clear"), "{text}");
    let line = "lftp -e 'set ftp:ssl-force true; set ssl:ca-file ca-cert.pem' -u anna 10.77.0.1";
    assert!(text.contains(line), "{text}");
    let curl = "far curl -sS -m 20 --cacert certs/ca-cert.pem -u anna:otter ftp://10.77.0.1/x";
    machine.done(&format!("head -c 2000000 /dev/urandom >sent; {curl} --ssl-reqd -T sent"));
    for version in ["1.2", "1.3"] {
        machine.done(&format!("{curl} --ssl-reqd --tlsv{version} --tls-max {version} | cmp - sent"));
    }
    let (code, text) = machine.run(&format!("{curl} -v"));
    assert!(code != 0 && text.contains("530 Non-anonymous sessions must use encryption"), "{text}");
    // As it is printed, but for the password, which would be asked for.
    let typed = line.replace("'set ftp", "'get x -o back; bye; set ftp").replace("-u anna", "-u anna,otter");
    let typed = typed.replace("get x -o back; bye; ", "").replace("ca-cert.pem'", "ca-cert.pem; get x -o back; bye'");
    machine.done(&format!("cp certs/ca-cert.pem .; far {typed}; cmp back sent"));
}
