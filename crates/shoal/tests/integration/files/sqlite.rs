//! SQLite with its log flushed at every commit, by its own shell: what it said was committed is
//! there.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::files::pond::{Pond, lacks, meanwhile};

/// Commits of one writer, one after the other, each answered before the next.
struct Writer {
    shell: Child,
    orders: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    committed: u64,
}

impl Writer {
    fn start(database: &Path) -> Self {
        let mut command = Command::new("stdbuf");
        command.args(["-oL", "sqlite3", "-batch"]).arg(database).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = command.spawn().unwrap();
        let (orders, answers) = (shell.stdin.take(), BufReader::new(shell.stdout.take().unwrap()));
        let mut writer = Self { shell, orders, answers, committed: 0 };
        let begin = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;\n\
                     CREATE TABLE ledger(n INTEGER PRIMARY KEY, noise BLOB);\n\
                     CREATE TABLE account(id INTEGER PRIMARY KEY, balance INTEGER, entries INTEGER);\n\
                     INSERT INTO account VALUES (1, 0, 0);\n";
        assert_eq!(writer.ask(begin), "wal");
        writer
    }

    fn ask(&mut self, orders: &str) -> String {
        self.orders.as_mut().unwrap().write_all(orders.as_bytes()).unwrap();
        let mut answer = String::new();
        self.answers.read_line(&mut answer).unwrap();
        answer.trim().to_owned()
    }

    /// One transaction in two tables, whose sums have to agree for ever.
    fn commit(&mut self) {
        let n = self.committed + 1;
        let answer = self.ask(&format!(
            "BEGIN; INSERT INTO ledger VALUES ({n}, randomblob(700)); \
             UPDATE account SET balance = balance + {n}, entries = entries + 1; COMMIT; SELECT {n};\n"
        ));
        assert_eq!(answer, n.to_string(), "the commit was not acknowledged");
        self.committed = n;
    }

    /// Commits until it is told to stop; how many, and how many a second.
    fn run(&mut self, stop: &AtomicBool) -> f64 {
        let (start, before) = (Instant::now(), self.committed);
        // However slow the machine is, they are some.
        while !stop.load(Ordering::Relaxed) || self.committed - before <= 10 {
            self.commit();
        }
        (self.committed - before) as f64 / start.elapsed().as_secs_f64()
    }

    /// Ends the shell as a crash of the program would: nothing is put in order.
    fn kill(mut self) -> u64 {
        self.shell.kill().unwrap();
        self.shell.wait().unwrap();
        self.orders.take();
        self.committed
    }
}

fn asked(database: &Path, question: &str) -> String {
    let output = Command::new("sqlite3").arg("-batch").arg(database).arg(question).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn holds(database: &Path, committed: u64) {
    assert_eq!(asked(database, "PRAGMA integrity_check"), "ok");
    let question = "SELECT count(*) || ' ' || max(n) || ' ' || sum(n) || ' ' || sum(length(noise)) FROM ledger";
    let sum = committed * (committed + 1) / 2;
    assert_eq!(asked(database, question), format!("{committed} {committed} {sum} {}", committed * 700));
    assert_eq!(asked(database, "SELECT balance || ' ' || entries FROM account"), format!("{sum} {committed}"));
}

/// Transactions a second in a plain directory, for a while.
fn rate_in_plain_directory(pond: &Pond, duration: Duration) -> f64 {
    let database = pond.bay.path("plain.sqlite");
    let mut writer = Writer::start(&database);
    let rate = meanwhile(|stop| writer.run(stop), || std::thread::sleep(duration));
    holds(&database, writer.kill());
    rate
}

#[test]
fn needs_root_fuse_sqlite_loses_nothing_that_it_committed() {
    if lacks(&[("sqlite3", "sqlite3"), ("mkfs.ext4", "e2fsprogs")], Some("ext4")) {
        return;
    }
    let breath = if crate::files::is_long() { Duration::from_secs(20) } else { Duration::from_millis(1500) };
    let mut pond = Pond::new("ext4", 64 << 20);
    let plain = rate_in_plain_directory(&pond, breath * 2);
    let database = pond.directory().join("pond.sqlite");
    let mut writer = Writer::start(&database);
    let rate = meanwhile(|stop| writer.run(stop), || pond.befall(breath));
    let committed = writer.kill();
    println!(
        "SQLite: {rate:.0} transactions/s on the array, its server killed and a member replaced meanwhile; {plain:.0} in a \
         plain directory: {:.2}",
        rate / plain
    );
    holds(&database, committed);
    // Once more without any page of this machine's memory.
    pond.unmount();
    pond.mount("d0 d2 d3");
    holds(&database, committed);
    pond.is_consistent();
}
