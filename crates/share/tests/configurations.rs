//! Configurations: whatever a name is, it stays one name; and the programs that read them find no
//! fault.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use shoal_share::configuration::{exports, ganesha, nfs, samba, vsftpd};
use shoal_share::{
    Durability, Entry, Guests, HostName, NfsServer, NfsShare, Owner, Places, PlainPath, Ports, Share, ShareId,
    ShareName, Site, UserName,
};

/// A share, with everything that can be told about one.
fn share(name: ShareName, directory: PlainPath, users: Vec<UserName>, guests: Guests) -> Share {
    Share {
        name,
        id: ShareId(*b"sixteen bytes..."),
        mount: Some(directory.clone()),
        directory,
        owner: Owner { user_id: 1000, group_id: 1001 },
        networks: vec!["192.168.1.0/24".parse().unwrap(), "fd00::/64".parse().unwrap()],
        read_only: false,
        users,
        guests,
        smb: true,
        nfs: Some(NfsShare { server: NfsServer::Kernel, durability: Durability::Sync, version_3: false }),
        ftp: true,
        has_extended_attributes: true,
    }
}

fn plain() -> Share {
    let directory = PlainPath::new(Path::new("/srv/pond")).unwrap();
    share("pond".parse().unwrap(), directory, vec!["anna".parse().unwrap()], Guests::Refused)
}

fn site() -> Site {
    Site {
        host_name: HostName::of("pi.home"),
        addresses: vec!["192.168.1.7".parse().unwrap()],
        ports: Ports::default(),
        places: Places::new(Path::new("/var/lib/shoal"), Path::new("/run/shoal")).unwrap(),
        entry: Entry::default(),
        tls: None,
    }
}

/// What vsftpd has.
fn own() -> vsftpd::Belongings<'static> {
    let [directory, log] = ["/run/shoal/ftp", "/run/shoal/ftp/vsftpd.log"].map(Path::new);
    vsftpd::Belongings { directory, log, pam_service: "vsftpd" }
}

/// All configurations of one share.
fn all(share: &Share) -> [String; 6] {
    let (site, shares) = (site(), std::slice::from_ref(share));
    [
        samba::file(&site, shares),
        ganesha::file(&site, shares),
        exports::file(shares, exports::Tree::Machine),
        exports::file(shares, exports::Tree::Names),
        nfs::file(&site, Path::new("/run/shoal/tree")),
        vsftpd::file(&site, share, site.addresses[0], own()),
    ]
}

/// What a configuration consists of when its values are taken away: each line up to where a value
/// begins.
fn skeleton(text: &str) -> Vec<String> {
    let key = |line: &str| {
        let line = line.split(['=', '[']).next().unwrap_or_default();
        line.split('"').next().unwrap_or_default().trim().to_owned()
    };
    text.lines().map(key).collect()
}

proptest! {
    #[test]
    fn no_path_is_more_than_a_path(text in any::<String>()) {
        if let Ok(directory) = PlainPath::new(Path::new(&format!("/srv/{text}"))) {
            let odd = share("pond".parse().unwrap(), directory.clone(), vec!["anna".parse().unwrap()], Guests::Refused);
            for (odd, plain) in all(&odd).iter().zip(all(&plain())) {
                prop_assert_eq!(skeleton(odd), skeleton(&plain));
            }
            let smb = samba::file(&site(), std::slice::from_ref(&odd));
            let path = format!("\n  path = {directory}\n");
            prop_assert!(smb.contains(&path), "{}", smb);
        }
    }

    #[test]
    fn no_path_of_odd_characters_is_more_than_a_path(text in "[ -~\n\r\t\u{85}\u{a0}\u{2028}\u{e4}\u{df}\u{6f22}/]{0,40}") {
        if let Ok(directory) = PlainPath::new(Path::new(&format!("/srv/{text}"))) {
            prop_assert!(!text.contains(['\n', '\r', '\t', '"', '\\', '%', '$', '#']));
            let odd = share("pond".parse().unwrap(), directory, vec!["anna".parse().unwrap()], Guests::Refused);
            for (odd, plain) in all(&odd).iter().zip(all(&plain())) {
                prop_assert_eq!(skeleton(odd), skeleton(&plain));
            }
        }
    }

    #[test]
    fn no_name_is_more_than_a_name(name in any::<String>(), user in "[\\PC\n:, ]{0,12}") {
        if let Ok(name) = name.parse::<ShareName>() {
            let text = name.to_string();
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte)));
        }
        if let Ok(user) = user.parse::<UserName>() {
            let text = user.to_string();
            prop_assert!(text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte)));
        }
    }
}

#[test]
fn what_could_mean_something_is_refused() {
    for path in [
        "/srv/a\nguest ok = yes",
        "/srv/%U",
        "/srv/a\"b",
        "/srv/a\\",
        "/srv/#a",
        "/srv/ a",
        "srv",
        "/srv/..",
        "/",
        "/a$(b)",
    ] {
        assert!(PlainPath::new(Path::new(path)).is_err(), "{path:?}");
    }
    for name in ["global", "Homes", "a b", "a]", "", ".a", "a/b", "IPC$"] {
        assert!(name.parse::<ShareName>().is_err(), "{name:?}");
    }
    for user in ["root", "nobody", "anonymous", "shoal-1-1", "Anna", "@staff", "a b", "a:b", "-a", ""] {
        assert!(user.parse::<UserName>().is_err(), "{user:?}");
    }
    assert!(Places::new(Path::new("/var/lib/a b"), Path::new("/run")).is_err());
}

#[test]
fn strangers_are_kept_out_by_every_configuration() {
    let [smb, _, machines, names, _, ftp] = all(&plain());
    for line in [
        "guest ok = no",
        "map to guest = Never",
        "hosts deny = ALL",
        "server min protocol = SMB2_10",
        "valid users = anna",
    ] {
        assert!(smb.contains(&format!("  {line}\n")), "{line}: {smb}");
    }
    assert!(smb.contains("  hosts allow = 192.168.1.0/24 fd00::/64\n") && smb.contains("  interfaces = 192.168.1.7\n"));
    for line in ["anonymous_enable=NO", "chroot_local_user=YES", "tcp_wrappers=YES", "listen_address=192.168.1.7"] {
        assert!(ftp.contains(&format!("\n{line}\n")), "{line}: {ftp}");
    }
    for exports in [machines, names] {
        for option in
            ["rw,sync,", "all_squash", "anonuid=1000,anongid=1001", "fsid=73697874-6565-6e20-6279-7465732e2e2e"]
        {
            assert_eq!(exports.matches(option).count(), 2, "{option}: {exports}");
        }
    }
    // One machine.
    let one = Share { networks: vec!["fd00::5/128".parse().unwrap()], ..plain() };
    let smb = samba::section(&one, "shoal");
    assert!(smb.contains("hosts allow = fd00::5/ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff\n"), "{smb}");
    // Nobody at all where there are neither users nor guests.
    let nobody = Share { users: Vec::new(), ..plain() };
    assert!(samba::file(&site(), &[nobody]).contains("valid users = shoal-1000-1001\n"));
    let read = Share { guests: Guests::Read, ..plain() };
    let section = samba::section(&read, "shoal");
    assert!(section.contains("read only = yes") && section.contains("write list = anna"), "{section}");
}

#[test]
fn samba_finds_no_fault() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("smb.conf");
    let [state, runtime] = ["state", "runtime"].map(|name| directory.path().join(name));
    let site = Site { places: Places::new(&state, &runtime).unwrap(), ..site() };
    // It looks whether they are there.
    for place in
        ["state/samba/private", "state/samba/state", "runtime/samba/cache", "runtime/samba/lock", "runtime/samba/pid"]
    {
        std::fs::create_dir_all(directory.path().join(place)).unwrap();
    }
    for (path_of_share, guests) in [("/srv/a (b) = [c]; \u{e4} & {d}", Guests::Refused), ("/srv/plain", Guests::Write)]
    {
        let shared = PlainPath::new(Path::new(path_of_share)).unwrap();
        let odd = share("odd".parse().unwrap(), shared, vec!["anna".parse().unwrap()], guests);
        std::fs::write(&path, samba::file(&site, &[plain(), odd])).unwrap();
        let Ok(output) = Command::new("testparm").args(["-s", "--suppress-prompt"]).arg(&path).output() else {
            println!("SKIPPED: smb.conf as Samba reads it needs testparm");
            return;
        };
        let [read, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        assert!(output.status.success(), "{said}");
        assert!(!said.contains("Unknown parameter") && !said.contains("Ignoring"), "{said}");
        let sections: Vec<_> = read.lines().filter(|line| line.starts_with('[')).collect();
        assert_eq!(sections, ["[global]", "[pond]", "[odd]"]);
        assert!(read.contains(&format!("\tpath = {path_of_share}\n")), "{read}");
    }
}
