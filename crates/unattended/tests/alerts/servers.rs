//! Alerts to servers and by programs that nobody here wrote: Python's web server over TLS, msmtp
//! and a mail server.

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use shoal_unattended::alert::{Configuration, Kind, Message, Notifier, try_all};

use crate::{PATIENCE, configured, no_log, script, sight};

/// Python's web server over TLS, on a port that it chooses: tells the port, then what is posted, a
/// line each.
const HTTPS_SERVER: &str = "
import http.server, ssl, sys
class Hook(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        self.send_response(204)
        self.end_headers()
        print(body.decode(), flush=True)
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), Hook)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain('server-cert.pem', 'server-key.pem')
server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_address[1], flush=True)
server.serve_forever()
";

/// A server that is killed at the end.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An authority, another one of the same name, and a certificate of the first for `localhost`.
fn certificates(directory: &Path) {
    let openssl = |arguments: &str| {
        let output = Command::new("openssl").args(arguments.split(' ')).current_dir(directory).output().unwrap();
        assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    for authority in ["ca", "other"] {
        openssl(&format!(
            "req -x509 {key} -keyout {authority}-key.pem -out {authority}-cert.pem -subj /CN=shoal -days 2"
        ));
    }
    openssl(&format!("req {key} -keyout server-key.pem -out server.csr -subj /CN=localhost"));
    std::fs::write(directory.join("names"), "subjectAltName=DNS:localhost").unwrap();
    openssl(
        "x509 -req -in server.csr -CA ca-cert.pem -CAkey ca-key.pem -CAcreateserial -out server-cert.pem -days 2 -extfile names",
    );
}

/// Whether a program is there; says loudly if not.
fn is_there(program: &str) -> bool {
    let is_there = Path::new("/usr/bin").join(program).exists();
    if !is_there {
        println!("SKIPPED: {}: needs {program}", std::thread::current().name().unwrap_or("a test"));
    }
    is_there
}

#[test]
fn needs_python3_and_openssl_a_server_is_believed_only_with_a_certificate_that_is_trusted() {
    if !(is_there("python3") && is_there("openssl")) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    certificates(directory.path());
    let mut command = Command::new("/usr/bin/python3");
    command.args(["-c", HTTPS_SERVER]).current_dir(directory.path()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut server = Server(command.spawn().unwrap());
    let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
    let port: u16 = lines.next().unwrap().unwrap().parse().unwrap();
    let webhook = |name: &str, host: &str, authority: Option<&str>| {
        let ca =
            authority.map_or(String::new(), |it| format!("ca_file = \"{}\"\n", directory.path().join(it).display()));
        format!("[[webhook]]\nname = \"{name}\"\nurl = \"https://{host}:{port}/hush\"\n{ca}")
    };
    let text = [
        webhook("nobody vouches", "localhost", None),
        webhook("somebody else vouches", "localhost", Some("other-cert.pem")),
        webhook("its name is another", "127.0.0.1", Some("ca-cert.pem")),
        webhook("it is known", "localhost", Some("ca-cert.pem")),
    ];
    let results = try_all(&configured(directory.path(), &text.concat()), "pi").unwrap();
    for (name, result) in &results[..3] {
        let said = result.as_ref().unwrap_err().to_string();
        assert!(
            said.contains("certificate is not trusted: ") && said.lines().count() == 1 && !said.contains("hush"),
            "{name}: {said}"
        );
    }
    assert!(results[3].1.is_ok(), "{:?}", results[3]);
    let message: Message = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(message.alerts[0].kind, Kind::Test);
    drop(server);
    assert!(lines.next().is_none(), "nobody else was told anything");
}

/// msmtp in the place of sendmail, and a server that puts what it gets into a directory.
struct Post {
    directory: tempfile::TempDir,
    port: u16,
}

impl Post {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        // Nobody listens there, until it is wanted.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let account = directory.path().join("msmtprc");
        std::fs::write(&account, format!("account default\nhost 127.0.0.1\nport {port}\nfrom pond@example.org\n"))
            .unwrap();
        script(directory.path(), "sendmail", &format!("exec msmtp -C {} \"$@\"", account.display()));
        Self { directory, port }
    }

    fn configuration(&self) -> Configuration {
        let program = self.directory.path().join("sendmail");
        let text =
            format!("[mail]\nto = [\"me@example.org\", \"you@example.org\"]\nprogram = \"{}\"\n", program.display());
        configured(self.directory.path(), &text)
    }

    fn server(&self) -> Server {
        let mut command = Command::new("/usr/bin/python3");
        command.args([
            "-m",
            "aiosmtpd",
            "-n",
            "-l",
            &format!("127.0.0.1:{}", self.port),
            "-c",
            "aiosmtpd.handlers.Mailbox",
        ]);
        command.arg(self.directory.path().join("box")).stdout(Stdio::null()).stderr(Stdio::null());
        let server = Server(command.spawn().unwrap());
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(start.elapsed() < PATIENCE, "there is no mail server");
            std::thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// The mails that have come.
    fn mails(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.directory.path().join("box/new")) else { return Vec::new() };
        entries.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect()
    }

    fn mails_come(&self, count: usize) -> Vec<String> {
        let start = Instant::now();
        while self.mails().len() < count {
            assert!(start.elapsed() < PATIENCE, "{count} mails do not come");
            std::thread::sleep(Duration::from_millis(50));
        }
        self.mails()
    }
}

fn has_aiosmtpd() -> bool {
    let found = Command::new("/usr/bin/python3").args(["-c", "import aiosmtpd"]).stderr(Stdio::null()).status();
    let has = found.is_ok_and(|status| status.success());
    if !has {
        println!("SKIPPED: mail to a real server: needs aiosmtpd (python3-aiosmtpd)");
    }
    has
}

#[test]
fn needs_msmtp_trouble_and_its_end_come_by_mail_once_each() {
    if !(is_there("msmtp") && is_there("python3") && has_aiosmtpd()) {
        return;
    }
    let post = Post::new();
    let _server = post.server();
    let notifier =
        Notifier::open(&post.configuration(), &post.directory.path().join("kept.json"), "pi", no_log).unwrap();
    notifier.see(sight(false));
    notifier.see(sight(true));
    notifier.see(sight(true));
    let mail = post.mails_come(1).remove(0);
    let has = |line: &str| assert!(mail.lines().any(|it| it == line), "no {line} in {mail}");
    has("To: me@example.org, you@example.org");
    has("Subject: [shoal pi] pond?Bcc: evil: member 1 (/dev/sd1) failed or is gone (and 1 more)");
    has("X-MailFrom: pond@example.org");
    has("X-RcptTo: me@example.org, you@example.org");
    assert!(mail.contains("it is degraded: 1 of 2 members is missing"), "{mail}");
    notifier.see(sight(true));
    notifier.see(sight(false));
    let mails = post.mails_come(2);
    let recovered = mails.iter().filter(|mail| mail.contains("all members are in sync again")).count();
    drop(notifier);
    assert_eq!((recovered, post.mails().len()), (1, 2), "{mails:?}");
}

#[test]
fn needs_msmtp_mail_that_no_server_takes_is_kept_until_one_does() {
    if !(is_there("msmtp") && is_there("python3") && has_aiosmtpd()) {
        return;
    }
    let post = Post::new();
    let kept = post.directory.path().join("kept.json");
    let notifier = Notifier::open(&post.configuration(), &kept, "pi", no_log).unwrap();
    notifier.see(sight(true));
    // The end waits for what is being tried, and for nothing else.
    drop(notifier);
    let mut state: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&kept).unwrap()).unwrap();
    let lane = &mut state["outbox"]["lanes"][0];
    assert!(lane["failures"] == 1 && lane["waiting"].as_array().unwrap().len() == 1, "{lane}");
    // The time of the next try has come, as far as the file knows.
    lane["not_before_s"] = 0.into();
    std::fs::write(&kept, state.to_string()).unwrap();
    let _server = post.server();
    drop(Notifier::open(&post.configuration(), &kept, "pi", no_log).unwrap());
    assert!(post.mails_come(1)[0].contains("it is degraded: 1 of 2 members is missing"));
}
