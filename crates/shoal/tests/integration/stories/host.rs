//! The machines that an array is run on: what they remember, and what time it is there.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use shoal_attach::{Answer, Client, ClientOptions, Operation};

use crate::running::server::PATIENCE;
use crate::support::{Bay, Ran};

/// How a command says that it makes no sense, that it refuses, and that somebody else has a drive.
const USAGE: i32 = 2;
const REFUSED: i32 = 3;
const BUSY: i32 = 4;

/// libfaketime, which lets a process believe in another time of day.
pub(crate) struct Clock {
    library: PathBuf,
}

impl Clock {
    pub(crate) fn find() -> Option<Self> {
        let libraries =
            fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path().join("faketime/libfaketime.so.1"));
        libraries.into_iter().find(|library| library.exists()).map(|library| Self { library })
    }
}

/// One machine.
pub(crate) struct Host<'a> {
    bay: &'a Bay,
    name: &'static str,
    clock: Option<&'a Clock>,
    /// Servers that were started.
    served: AtomicUsize,
}

impl<'a> Host<'a> {
    pub(crate) fn new(bay: &'a Bay, name: &'static str, clock: Option<&'a Clock>) -> Self {
        let host = Self { bay, name, clock, served: AtomicUsize::new(0) };
        host.set_clock_days(0);
        host
    }

    /// Lets the clock jump: it is so many days off from now on.
    pub(crate) fn set_clock_days(&self, days: i64) {
        println!("{}: the clock is {days} days off", self.name);
        fs::write(self.clock_file(), format!("{days:+}d\n")).unwrap();
    }

    fn clock_file(&self) -> PathBuf {
        self.bay.path(&format!("clock-{}", self.name))
    }

    /// Takes a drive away: nobody finds it in its place.
    pub(crate) fn unplug(&self, drive: usize) {
        fs::rename(self.bay.path(&format!("d{drive}")), self.bay.path(&format!("away-{drive}"))).unwrap();
    }

    /// Brings it back.
    pub(crate) fn plug(&self, drive: usize) {
        fs::rename(self.bay.path(&format!("away-{drive}")), self.bay.path(&format!("d{drive}"))).unwrap();
    }

    /// A new one for each server: clients of one that was killed look for it again, to do what was
    /// not answered.
    fn socket(&self) -> PathBuf {
        let number = self.served.fetch_add(1, Ordering::Relaxed);
        self.bay.runtime().with_file_name(format!("{}-{number}", self.name))
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = self.bay.command(line.split_whitespace());
        command.env("SHOAL_STATE_DIRECTORY", self.bay.path(&format!("state-{}", self.name)));
        if let Some(clock) = self.clock {
            command.env("LD_PRELOAD", &clock.library).env("FAKETIME_DONT_FAKE_MONOTONIC", "1");
            command.env("FAKETIME_TIMESTAMP_FILE", self.clock_file()).env("FAKETIME_NO_CACHE", "1");
        }
        command
    }

    /// Runs a command that may be refused, but has to end, and not by a panic. Whether it was done.
    pub(crate) fn attempt(&self, line: &str) -> Result<Ran, Ran> {
        let ran = judge(line, ended(line, self.command(line).spawn().unwrap()));
        let (Ok(told) | Err(told)) = &ran;
        println!("{}: shoal {line}: {} {}", self.name, told.code, told.stderr.trim());
        ran
    }

    /// Starts a server of these drives; what it says if it refuses. The kernel may take a while to
    /// end what a killed one had begun, and has its drives until then: whoever is told so tries
    /// again.
    pub(crate) fn serve(&self, drives: &str) -> Result<Server, Ran> {
        let start = Instant::now();
        loop {
            match self.try_to_serve(drives) {
                Err(busy) if busy.code == BUSY && start.elapsed() < PATIENCE => {}
                other => return other,
            }
        }
    }

    fn try_to_serve(&self, drives: &str) -> Result<Server, Ran> {
        let socket = self.socket();
        let line = format!("serve --nbd unix:{} {drives}", socket.display());
        let mut child = self.command(&line).spawn().unwrap();
        let listens = listens(&mut child);
        let (Ok(told) | Err(told)) = &listens;
        println!("{}: shoal {line}: {}", self.name, told.trim());
        match listens {
            Ok(_) => Ok(Server::connect(child, &socket)),
            Err(told) => {
                let output = Output { stderr: told.into_bytes(), ..ended(&line, child) };
                Err(judge(&line, output).expect_err("a server that was not stopped has not ended well"))
            }
        }
    }
}

/// Waits until a server is there for clients. What it has said by then, or, if it ends before, all
/// that it said.
fn listens(child: &mut Child) -> Result<String, String> {
    let mut told = String::new();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    loop {
        let start = told.len();
        if stderr.read_line(&mut told).unwrap() == 0 {
            return Err(told);
        }
        if told[start..].contains("is served at") {
            // What it says later goes nowhere; it must not stop for that.
            std::thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
            return Ok(told);
        }
    }
}

/// Waits for a process, for as long as anything may take.
fn ended(line: &str, mut child: Child) -> Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            panic!("shoal {line} hangs");
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

fn judge(line: &str, output: Output) -> Result<Ran, Ran> {
    let ran = Ran::of(output);
    assert!(!ran.stderr.contains("panicked"), "shoal {line}: {}", ran.stderr);
    match ran.code {
        0 => Ok(ran),
        1 | USAGE | REFUSED | BUSY => Err(ran),
        code => panic!("shoal {line} ends with {code}: {}", ran.stderr),
    }
}

/// A server and its client.
pub(crate) struct Server {
    child: Child,
    client: Client,
}

impl Server {
    fn connect(child: Child, socket: &Path) -> Self {
        let options = ClientOptions { export: String::new(), deadline: PATIENCE, connections: 1 };
        let client = Client::connect(socket, &options).unwrap();
        Self { child, client }
    }

    pub(crate) fn size_bytes(&self) -> u64 {
        self.client.size_bytes()
    }

    /// Has it do something; the answer comes through the channel.
    pub(crate) fn submit(&self, operation: Operation) -> std::sync::mpsc::Receiver<Answer> {
        let (sender, receiver) = std::sync::mpsc::channel();
        self.client.submit(operation, Box::new(move |answer| drop(sender.send(answer))));
        receiver
    }

    /// Has it do something that has to succeed.
    pub(crate) fn done(&self, operation: Operation) -> Vec<u8> {
        let what = match &operation {
            Operation::Read { offset, .. } => format!("a read at {offset}"),
            other => format!("{other:?}").chars().take(60).collect(),
        };
        self.submit(operation).recv().unwrap().unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Ends it in order.
    pub(crate) fn stop(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        let start = Instant::now();
        while self.child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < PATIENCE, "a server does not stop");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
