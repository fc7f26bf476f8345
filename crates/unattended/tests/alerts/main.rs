//! Alerts all the way out: over a real HTTP server, a program that stands in for sendmail, and a
//! command; servers that are away, hang or say no; and a process that ends before all is told.

#![allow(clippy::unwrap_used, reason = "a test may fail by panic")]

mod servers;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use shoal_unattended::alert::{
    ArraySight, Configuration, Health, Kind, MemberSight, MemberState, Message, Notifier, Severity, try_all,
};

/// What takes longer hangs, however busy the machine is.
const PATIENCE: Duration = Duration::from_secs(180);

/// What a server got: the head of the request, and the message.
type Posted = (String, Message);

/// A server that answers each request with the next of these statuses, and the last one for ever.
fn server(statuses: &'static [u16]) -> (String, Receiver<Posted>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/hook?secret=hush", listener.local_addr().unwrap());
    let (sender, posted) = channel();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let status = statuses[number.min(statuses.len() - 1)];
            if sender.send(answer(&stream.unwrap(), status)).is_err() {
                return;
            }
        }
    });
    (address, posted)
}

fn answer(mut stream: &TcpStream, status: u16) -> Posted {
    let mut reader = BufReader::new(stream);
    let (mut head, mut line, mut length) = (String::new(), String::new(), 0);
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        head += &std::mem::take(&mut line);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    write!(stream, "HTTP/1.1 {status} -\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    (head, serde_json::from_slice(&body).unwrap())
}

/// A program in a directory, as a shell script.
fn script(directory: &Path, name: &str, text: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    path
}

fn configured(directory: &Path, text: &str) -> Configuration {
    let path = directory.join("alerts.toml");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    Configuration::read(&path).unwrap()
}

fn sight(missing: bool) -> Vec<ArraySight> {
    let member = |role: usize, state| MemberSight { state, on: Some(format!("/dev/sd{role}")), suspect: false };
    let second = if missing { MemberState::Missing } else { MemberState::InSync };
    vec![ArraySight {
        uuid: "01020304:05060708:090a0b0c:0d0e0f10".to_owned(),
        name: "pond\nBcc: evil".to_owned(),
        health: if missing { Health::Degraded } else { Health::Optimal },
        needs_resync: false,
        members: vec![member(0, MemberState::InSync), member(1, second)],
        spares: 0,
        scrub: None,
        lost_ranges: 0,
    }]
}

fn no_log(_: &str) {}

fn appears(path: &Path) -> String {
    let start = Instant::now();
    loop {
        match std::fs::read_to_string(path) {
            Ok(text) if text.ends_with("end\n") => return text,
            _ if start.elapsed() > PATIENCE => panic!("{} does not appear", path.display()),
            _ => std::thread::sleep(Duration::from_millis(20)),
        }
    }
}

/// All three ways: a webhook with a token, and scripts that write to `mailed` and `heard`.
fn every_way(directory: &Path, url: &str) -> Configuration {
    let (mailed, heard) = (directory.join("mailed"), directory.join("heard"));
    let sendmail =
        script(directory, "sendmail", &format!("{{ echo \"arguments: $*\"; cat; echo end; }} >{}", mailed.display()));
    let command = script(
        directory,
        "on-alert",
        &format!(
            "{{ echo \"$1 $SHOAL_SEVERITY $SHOAL_KIND $SHOAL_HEALTH $SHOAL_HOST\"; cat; echo; echo end; }} >{}",
            heard.display()
        ),
    );
    let token = directory.join("token");
    std::fs::write(&token, "hush-hush\n").unwrap();
    std::fs::set_permissions(&token, PermissionsExt::from_mode(0o600)).unwrap();
    configured(
        directory,
        &format!(
            "[mail]\nto = [\"root\", \"me@example.org\"]\nprogram = \"{}\"\n[[webhook]]\nname = \"home\"\nurl = \"{url}\"\ntoken_file = \"{}\"\n[[command]]\nprogram = \"{}\"\narguments = [\"first\"]\n",
            sendmail.display(),
            token.display(),
            command.display()
        ),
    )
}

#[test]
fn a_members_failure_goes_out_by_every_way() {
    let directory = tempfile::tempdir().unwrap();
    let (url, posted) = server(&[200]);
    let configuration = every_way(directory.path(), &url);
    let notifier = Notifier::open(&configuration, &directory.path().join("kept.json"), "pi", no_log).unwrap();
    notifier.see(sight(false));
    notifier.see(sight(true));
    let (head, message) = posted.recv_timeout(PATIENCE).unwrap();
    assert!(head.starts_with("POST /hook?secret=hush ") && head.contains("Bearer hush-hush"), "{head}");
    let kinds: Vec<_> = message.alerts.iter().map(|alert| alert.kind).collect();
    assert_eq!(kinds, [Kind::ArrayDegraded, Kind::MemberFailed]);
    assert_eq!((message.severity, message.host.as_str()), (Severity::Critical, "pi"));
    let mail = appears(&directory.path().join("mailed"));
    assert!(mail.starts_with("arguments: -i -t\n") && mail.contains("\nTo: root, me@example.org\n"), "{mail}");
    assert!(mail.contains("\nSubject: [shoal pi] pond?Bcc: evil: member 1 (/dev/sd1) failed"), "{mail}");
    assert!(!mail.lines().take_while(|line| !line.is_empty()).any(|line| line.starts_with("Bcc")), "{mail}");
    let heard = appears(&directory.path().join("heard"));
    assert!(heard.starts_with("first critical member-failed degraded pi\n"), "{heard}");
    let document: Message = serde_json::from_str(heard.lines().nth(1).unwrap()).unwrap();
    assert_eq!(document, message, "all ways carry the same");
}

#[test]
fn what_a_server_does_not_take_is_told_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let (url, posted) = server(&[503, 200]);
    let configuration = configured(directory.path(), &format!("[[webhook]]\nname = \"home\"\nurl = \"{url}\"\n"));
    let kept = directory.path().join("kept.json");
    let notifier = Notifier::open(&configuration, &kept, "pi", no_log).unwrap();
    notifier.see(sight(false));
    notifier.see(sight(true));
    let refused = posted.recv_timeout(PATIENCE).unwrap().1;
    drop(notifier);
    // The time of the next try has come, as far as the file knows.
    let text = std::fs::read_to_string(&kept).unwrap();
    let mut state: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(state["outbox"]["lanes"][0]["failures"], 1, "{state}");
    state["outbox"]["lanes"][0]["not_before_s"] = 0.into();
    std::fs::write(&kept, state.to_string()).unwrap();
    let notifier = Notifier::open(&configuration, &kept, "pi", no_log).unwrap();
    assert_eq!(posted.recv_timeout(PATIENCE).unwrap().1.alerts, refused.alerts);
    drop(notifier);
    let notifier = Notifier::open(&configuration, &kept, "pi", no_log).unwrap();
    notifier.see(sight(true));
    drop(notifier);
    assert!(posted.try_recv().is_err(), "what was told is not told again");
}

#[test]
fn what_happens_while_nobody_watches_is_told_at_the_next_start() {
    let directory = tempfile::tempdir().unwrap();
    let (url, posted) = server(&[200]);
    let configuration = configured(directory.path(), &format!("[[webhook]]\nname = \"home\"\nurl = \"{url}\"\n"));
    let kept = directory.path().join("kept.json");
    let notifier = Notifier::open(&configuration, &kept, "pi", no_log).unwrap();
    notifier.see(sight(false));
    drop(notifier);
    let notifier = Notifier::open(&configuration, &kept, "pi", no_log).unwrap();
    notifier.see(sight(true));
    drop(notifier);
    assert_eq!(posted.recv_timeout(PATIENCE).unwrap().1.alerts.len(), 2, "an end does not wait for more to gather");
}

/// Whether the other end has neither closed the connection nor ended what it says.
fn is_waited_for(mut stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let ended = std::iter::repeat_with(|| stream.read(&mut [0; 4096])).find(|read| !matches!(read, Ok(1..)));
    matches!(ended, Some(Err(error)) if error.kind() == std::io::ErrorKind::WouldBlock)
}

/// The owner of an array must not wait for a server that takes connections and says nothing.
#[test]
fn a_server_that_hangs_holds_nobody_up() {
    let directory = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let configuration = configured(directory.path(), &format!("[[webhook]]\nname = \"home\"\nurl = \"{url}\"\n"));
    let notifier = Notifier::open(&configuration, &directory.path().join("kept.json"), "pi", no_log).unwrap();
    notifier.see(sight(false));
    notifier.see(sight(true));
    // On a machine that stood still until the server was given up nothing is said by it, and the
    // next try is looked at.
    let hung = (0..5).find_map(|_| {
        let (hung, _) = listener.accept().unwrap();
        for number in 0..10_000 {
            notifier.see(sight(number % 2 == 0));
        }
        is_waited_for(&hung).then_some(hung)
    });
    assert!(hung.is_some(), "the owner has waited until the server was given up");
    // The server goes, so that the test need not wait for the time that it is given.
    drop((hung, listener));
}

#[test]
fn a_test_says_what_came_of_each_way_and_no_secret() {
    let directory = tempfile::tempdir().unwrap();
    let (url, posted) = server(&[200]);
    let away = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let failing = script(directory.path(), "failing", "exit 7");
    let configuration = configured(
        directory.path(),
        &format!(
            "[[webhook]]\nname = \"home\"\nurl = \"{url}\"\n[[webhook]]\nname = \"away\"\nurl = \"http://{away}/hush\"\n[[command]]\nprogram = \"{}\"\n[mail]\nto = [\"root\"]\nprogram = \"/no/such/sendmail\"\n",
            failing.display()
        ),
    );
    let results = try_all(&configuration, "pi").unwrap();
    let said: Vec<_> = results
        .iter()
        .map(|(name, result)| (name.clone(), result.as_ref().map_or_else(ToString::to_string, |()| "taken".to_owned())))
        .collect();
    assert_eq!(posted.recv_timeout(PATIENCE).unwrap().1.alerts[0].kind, Kind::Test);
    assert!(said[0].0 == "mail to root" && said[0].1.contains("/no/such/sendmail does not start"), "{said:?}");
    assert_eq!(said[1], ("webhook home".to_owned(), "taken".to_owned()));
    assert!(said[2].0 == "webhook away" && said[2].1 != "taken" && !said[2].1.contains("hush"), "{said:?}");
    assert!(said[3].1.contains("exit status: 7"), "{said:?}");
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused_in_one_line() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("alerts.toml");
    for (text, mode, says) in [
        ("", 0o600, "nobody is told"),
        ("[mail]\nto = []", 0o600, "are addresses"),
        ("[mail]\nto = [\"a\\nBcc: b\"]", 0o600, "are addresses"),
        ("[mail]\nto = [\"root\"]\ncolour = 1", 0o600, "line 3: unknown field `colour`"),
        ("messages_per_hour = 0\n[mail]\nto = [\"root\"]", 0o600, "nothing would ever be sent"),
        ("[[command]]\nprogram = \"beep\"", 0o600, "no absolute path"),
        ("[[webhook]]\nname = \"x\"\nurl = \"ftp://hush\"", 0o600, "none of http or https"),
        ("[[webhook]]\nname = \"x\"\nurl = \"https://hush\"", 0o644, "others can read it"),
    ] {
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        let said = Configuration::read(&path).unwrap_err().to_string();
        assert!(said.contains(says) && said.lines().count() == 1 && !said.contains("hush"), "{text}: {said}");
    }
}
