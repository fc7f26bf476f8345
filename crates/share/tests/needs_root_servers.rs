//! The real servers, and clients that nobody here wrote.

#![allow(clippy::unwrap_used)] // a test that fails says where

mod support;

use std::fs;
use std::os::unix::fs::MetadataExt;

use shoal_share::{Guests, NfsServer, Protocol, ServerError, Share, has_password, set_password, start};
use support::{ADDRESS, OWNER, Stage, fill, nfs, said};

/// `smbclient`, with a command of its own.
fn smb(stage: &Stage, who: &str, command: &str) -> (bool, String) {
    let place = format!("//{ADDRESS}/pond");
    let mut line = vec!["smbclient", &place, "-c", command];
    line.extend(if who.is_empty() { vec!["-N"] } else { vec!["-U", who] });
    let output = stage.client(line);
    (output.status.success(), said(&output))
}

#[test]
fn needs_root_samba_serves_users_and_nobody_else() {
    let Some(stage) = Stage::set(&["smbd", "smbclient"]) else { return };
    let (site, share) = (stage.site(), Share { smb: true, ..stage.share() });
    let anna = &share.users[0];
    assert!(!has_password(&site, Protocol::Smb, anna));
    set_password(&site, anna, "heron & pike").unwrap();
    set_password(&site, &"bert".parse().unwrap(), "pike").unwrap();
    assert!(has_password(&site, Protocol::Smb, anna));
    let server = start(Protocol::Smb, &site, std::slice::from_ref(&share)).unwrap();

    let content = fill(&stage.at("sent"), 3_000_000);
    let (is_done, text) = smb(&stage, "anna%heron & pike", "put sent x; get x back; mkdir reeds; put sent reeds/y");
    assert!(is_done, "{text}");
    assert_eq!(fs::read(stage.at("back")).unwrap(), content);
    assert_eq!(fs::read(stage.shared().join("x")).unwrap(), content);
    for (name, mode) in [("x", 0o100_660), ("reeds", 0o40_770), ("reeds/y", 0o100_660)] {
        let about = fs::metadata(stage.shared().join(name)).unwrap();
        assert_eq!((about.uid(), about.gid(), about.mode()), (OWNER.user_id, OWNER.group_id, mode), "{name}");
    }

    for (who, why) in [("anna%pike", "LOGON_FAILURE"), ("bert%pike", "LOGON_FAILURE"), ("", "ACCESS_DENIED")] {
        let (is_done, text) = smb(&stage, who, "ls");
        assert!(!is_done && text.contains(why), "`{who}`: {text}");
    }
    let old =
        stage.client(["smbclient", &format!("//{ADDRESS}/pond"), "-m", "NT1", "-U", "anna%heron & pike", "-c", "ls"]);
    assert!(!old.status.success(), "SMB1 is spoken: {}", said(&old));

    // Another password is good at once, and the old one no longer.
    set_password(&site, anna, "otter").unwrap();
    assert!(smb(&stage, "anna%otter", "ls").0);
    assert!(!smb(&stage, "anna%heron & pike", "ls").0);
    server.stop().unwrap();
    assert!(!smb(&stage, "anna%otter", "ls").0);
}

#[test]
fn needs_root_samba_takes_shares_in_and_out_while_it_runs() {
    let Some(stage) = Stage::set(&["smbd", "smbclient"]) else { return };
    let (site, share) = (stage.site(), Share { smb: true, ..stage.share() });
    set_password(&site, &share.users[0], "otter").unwrap();
    let other = Share { name: "lake".parse().unwrap(), read_only: true, ..share.clone() };
    let mut server = start(Protocol::Smb, &site, std::slice::from_ref(&share)).unwrap();
    let ids = server.process_ids();
    assert!(server.change(&[share.clone(), other.clone()]).unwrap());
    fill(&stage.at("sent"), 1000);
    let lake = format!("//{ADDRESS}/lake");
    let at_lake = |command| stage.client(["smbclient", &lake, "-U", "anna%otter", "-c", command]);
    eventually(|| at_lake("ls").status.success());
    assert!(!at_lake("put sent x").status.success(), "it is read-only");
    assert!(server.change(std::slice::from_ref(&share)).unwrap());
    eventually(|| !at_lake("ls").status.success());
    assert!(smb(&stage, "anna%otter", "put sent x").0);
    assert_eq!(server.process_ids(), ids);
    let with_bert = Share { users: vec!["anna".parse().unwrap(), "bert".parse().unwrap()], ..share };
    assert!(!server.change(&[with_bert]).unwrap(), "accounts cannot change under a server that runs");
    server.stop().unwrap();
}

#[test]
fn needs_root_guests_are_let_in_where_that_is_told() {
    let Some(stage) = Stage::set(&["smbd", "smbclient", "vsftpd", "curl"]) else { return };
    let site = stage.site();
    fill(&stage.at("sent"), 1000);
    fs::copy(stage.at("sent"), stage.shared().join("x")).unwrap();
    std::os::unix::fs::chown(stage.shared().join("x"), Some(OWNER.user_id), Some(OWNER.group_id)).unwrap();
    for (guests, may_write) in [(Guests::Read, false), (Guests::Write, true)] {
        let share = Share { smb: true, ftp: true, guests, ..stage.share() };
        set_password(&site, &share.users[0], "otter").unwrap();
        let shares = std::slice::from_ref(&share);
        let servers = [Protocol::Smb, Protocol::Ftp].map(|protocol| start(protocol, &site, shares).unwrap());
        assert!(smb(&stage, "", "get x back").0);
        assert_eq!(smb(&stage, "", "put sent guests").0, may_write, "{guests:?}");
        assert!(smb(&stage, "anna%otter", "put sent annas").0);
        let place = format!("ftp://{ADDRESS}/");
        stage.run(["curl", "-sS", &format!("{place}x"), "-o", "back"]);
        let upload = stage.client(["curl", "-sS", "-T", "sent", &format!("{place}guests-ftp")]);
        assert_eq!(upload.status.success(), may_write, "{guests:?}: {}", said(&upload));
        for server in servers {
            server.stop().unwrap();
        }
    }
}

#[test]
fn needs_root_vsftpd_serves_users_and_nobody_else() {
    let Some(stage) = Stage::set(&["vsftpd", "curl", "lftp", "openssl"]) else { return };
    let (site, share) = (stage.site(), Share { ftp: true, ..stage.share() });
    set_password(&site, &share.users[0], "otter").unwrap();
    let server = start(Protocol::Ftp, &site, std::slice::from_ref(&share)).unwrap();
    let content = fill(&stage.at("sent"), 3_000_000);
    let place = format!("ftp://{ADDRESS}/x");
    stage.run(["curl", "-sS", "-u", "anna:otter", "-T", "sent", &place]);
    stage.run(["curl", "-sS", "-u", "anna:otter", "-o", "back", &place]);
    assert_eq!(fs::read(stage.at("back")).unwrap(), content);
    let about = fs::metadata(stage.shared().join("x")).unwrap();
    assert_eq!((about.uid(), about.gid(), about.mode()), (OWNER.user_id, OWNER.group_id, 0o100_660));
    let list = stage.run(["lftp", "-u", "anna,otter", "-e", "cd /etc; ls; bye", ADDRESS]);
    assert!(list.contains("Access failed: 550") && list.contains('x'), "{list}");
    for who in ["anna:pike", "bert:otter", "anonymous:", "root:otter"] {
        let output = stage.client(["curl", "-sS", "-u", who, &place]);
        assert!(!output.status.success() && said(&output).contains("530"), "{who}: {}", said(&output));
    }
    server.stop().unwrap();
}

#[test]
fn needs_root_a_server_that_cannot_run_says_why() {
    let Some(stage) = Stage::set(&["smbd"]) else { return };
    let share = Share { smb: true, ..stage.share() };
    let site = stage.site();
    let nowhere = shoal_share::Site { addresses: vec!["10.99.0.1".parse().unwrap()], ..site };
    match start(Protocol::Smb, &nowhere, &[share]) {
        Err(ServerError::Failed { program: "smbd", reason }) => {
            assert!(!reason.contains("does not listen"), "{reason}")
        }
        other => panic!("{other:?}"),
    }
}

fn eventually(mut is_so: impl FnMut() -> bool) {
    for _ in 0..1800 {
        if is_so() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("it has not come to be so in three minutes");
}

/// Reads a file over NFS 4, with a client in user space; `nfs-cp` of this library cannot write over
/// version 4.
fn nfs_read(stage: &Stage, file: &str) -> (bool, String) {
    let output = stage.client(["nfs-cat", &format!("nfs://{ADDRESS}/pond/{file}?version=4")]);
    (output.status.success(), said(&output))
}

#[test]
fn needs_root_ganesha_serves_the_same_handles_after_a_restart() {
    let Some(stage) = Stage::set(&["ganesha.nfsd", "nfs-cat", "nfs-ls"]) else { return };
    let share = Share { nfs: nfs(NfsServer::Ganesha), ..stage.share() };
    let (site, shares) = (stage.site(), std::slice::from_ref(&share));
    fs::write(stage.shared().join("x"), "heron\n").unwrap();
    let server = start(Protocol::Nfs(NfsServer::Ganesha), &site, shares).unwrap();
    eventually(|| nfs_read(&stage, "x") == (true, "heron\n".to_owned()));
    server.stop().unwrap();
    assert!(!nfs_read(&stage, "x").0);

    let other = Share { networks: vec!["10.78.0.0/24".parse().unwrap()], ..share.clone() };
    // Without what it knew of clients, so that it does not wait for them.
    fs::remove_dir_all(stage.at("state/ganesha")).unwrap();
    let mut server = start(Protocol::Nfs(NfsServer::Ganesha), &site, &[other]).unwrap();
    assert!(!nfs_read(&stage, "x").0, "a client of no network of the share");
    // The same server is told that this network may have it too.
    assert!(server.change(shares).unwrap());
    eventually(|| nfs_read(&stage, "x").0);
    server.stop().unwrap();
}

#[test]
fn needs_root_ganesha_refuses_what_it_cannot_do() {
    let Some(stage) = Stage::set(&["ganesha.nfsd"]) else { return };
    let nfs =
        nfs(NfsServer::Ganesha).map(|nfs| shoal_share::NfsShare { durability: shoal_share::Durability::Async, ..nfs });
    let share = Share { nfs, ..stage.share() };
    let refused = start(Protocol::Nfs(NfsServer::Ganesha), &stage.site(), &[share]);
    assert!(matches!(refused, Err(ServerError::Refused(_))), "{refused:?}");
}

#[test]
fn needs_root_servers_are_kept_as_they_should_be() {
    let Some(stage) = Stage::set(&["smbd", "smbclient"]) else { return };
    let (site, share) = (stage.site(), Share { smb: true, ..stage.share() });
    set_password(&site, &share.users[0], "otter").unwrap();
    let mut servers = shoal_share::Servers::default();
    let seconds = std::time::Duration::from_secs;
    let shares = std::slice::from_ref(&share);
    assert!(servers.reconcile(&site, shares, seconds(0)).iter().all(|news| news.problem.is_none()));
    assert_eq!(servers.running(), [Protocol::Smb]);
    assert!(servers.reconcile(&site, shares, seconds(1)).is_empty(), "nothing is to be done");
    // It is killed: that is told, and after a pause it is there again.
    let ids: Vec<_> = servers.process_ids().iter().map(ToString::to_string).collect();
    assert!(std::process::Command::new("kill").arg("-KILL").args(ids).status().unwrap().success());
    eventually(|| !servers.reconcile(&site, shares, seconds(2)).is_empty());
    assert!(servers.running().is_empty());
    assert!(servers.reconcile(&site, shares, seconds(2)).is_empty(), "not before the pause is over");
    assert_eq!(servers.reconcile(&site, shares, seconds(10)).len(), 1);
    assert!(smb(&stage, "anna%otter", "ls").0);
    // What is no longer wanted ends.
    servers.reconcile(&site, &[], seconds(11));
    assert!(servers.running().is_empty() && !smb(&stage, "anna%otter", "ls").0);
}
