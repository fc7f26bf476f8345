//! A `shoal run` and a client that speaks its protocol word by word.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Bay, Ran};

/// What takes longer hangs, however busy the machine is.
pub(crate) const PATIENCE: Duration = Duration::from_secs(180);

/// A running array; killed if the test ends before it does.
pub(crate) struct Server {
    child: Option<Child>,
    pub(crate) socket: PathBuf,
}

impl Server {
    /// Starts `shoal run` and waits until its socket is there.
    pub(crate) fn start(bay: &Bay, line: &str) -> Self {
        Self::start_as(bay, "run", line)
    }

    /// The same of another command that keeps an array.
    pub(crate) fn start_as(bay: &Bay, command: &str, line: &str) -> Self {
        let mut child = bay.command(format!("{command} {line}").split_whitespace()).spawn().unwrap();
        let start = Instant::now();
        loop {
            let named = line.split(' ').skip_while(|&word| word != "--socket").nth(1).map(PathBuf::from);
            let places = named.map_or_else(|| sockets(&bay.runtime()), |socket| vec![socket]);
            // Clients of its content are let in before administrators are.
            let mut places = places.into_iter().filter(|path| path.extension().is_none_or(|it| it != "nbd"));
            if let Some(socket) = places.find(|path| UnixStream::connect(path).is_ok()) {
                return Self { child: Some(child), socket };
            }
            if child.try_wait().unwrap().is_some() {
                panic!("shoal {command} {line}: {}", Ran::of(child.wait_with_output().unwrap()).stderr);
            }
            assert!(start.elapsed() < PATIENCE, "shoal {command} {line} does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub(crate) fn process_id(&self) -> u32 {
        self.child.as_ref().unwrap().id()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.as_ref().unwrap().id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// Waits for its end.
    pub(crate) fn ended(mut self) -> Ran {
        Ran::of(self.child.take().unwrap().wait_with_output().unwrap())
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(mut self) {
        let mut child = self.child.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(&self.socket)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The sockets and links to sockets in a directory.
pub(crate) fn sockets(directory: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

/// A client, whose answers are held against the schema.
pub(crate) struct Client {
    pub(crate) stream: UnixStream,
    answers: BufReader<UnixStream>,
    schema: jsonschema::Validator,
}

impl Client {
    pub(crate) fn connect(socket: &Path) -> Self {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let answers = BufReader::new(stream.try_clone().unwrap());
        let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/answer.json");
        let schema = serde_json::from_str(&std::fs::read_to_string(schema).unwrap()).unwrap();
        Self { stream, answers, schema: jsonschema::validator_for(&schema).unwrap() }
    }

    pub(crate) fn send(&mut self, request: &Value, content: &[u8]) {
        let line = request.to_string() + "\n";
        self.stream.write_all(line.as_bytes()).unwrap();
        self.stream.write_all(content).unwrap();
    }

    /// The next answer; none if the connection was closed.
    pub(crate) fn answer(&mut self) -> Option<Value> {
        let mut line = String::new();
        // A connection that is reset has been closed too.
        if self.answers.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        let answer = serde_json::from_str(&line).unwrap();
        let errors: Vec<_> = self.schema.iter_errors(&answer).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:?} in {line}");
        Some(answer)
    }

    pub(crate) fn content(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.answers.read_exact(&mut bytes).unwrap();
        bytes
    }

    pub(crate) fn call(&mut self, request: &Value) -> Value {
        self.send(request, &[]);
        self.answer().unwrap()
    }

    pub(crate) fn status(&mut self) -> Value {
        self.call(&json!({"id": 1, "command": "status"}))["state"].clone()
    }

    pub(crate) fn write(&mut self, offset: u64, bytes: &[u8]) {
        let arguments = json!({"offset": offset, "length": bytes.len()});
        self.send(&json!({"id": 2, "command": "write", "arguments": arguments}), bytes);
        assert_eq!(self.answer().unwrap(), json!({"id": 2, "done": {}}), "write at {offset}");
    }

    pub(crate) fn read(&mut self, offset: u64, length: usize) -> Vec<u8> {
        let arguments = json!({"offset": offset, "length": length});
        let answer = self.call(&json!({"id": 3, "command": "read", "arguments": arguments}));
        assert_eq!(answer, json!({"id": 3, "content": {"bytes": length}}), "read at {offset}");
        self.content(length)
    }

    pub(crate) fn flush(&mut self) {
        assert_eq!(self.call(&json!({"id": 4, "command": "flush"})), json!({"id": 4, "done": {}}));
    }
}
