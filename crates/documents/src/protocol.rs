//! What goes over a running array's socket.
//!
//! A request is one line of JSON, and so is its answer:
//!
//! ```text
//! {"id":1,"command":"fail","arguments":{"member":"/dev/sdb"}}
//! {"id":1,"state":{"name":"pond","health":"degraded", ...}}
//! {"id":2,"command":"read","arguments":{"offset":0,"length":4096}}
//! {"id":2,"content":{"bytes":4096}}                                   and 4096 bytes as they are
//! {"id":3,"command":"write","arguments":{"offset":0,"length":4096}}   and 4096 bytes as they are
//! {"id":3,"done":{}}
//! ```
//!
//! Content goes beside the JSON, uncoded: it is most of what is moved. A client may send its next
//! requests before it has an answer; answers come in any order, and carry the request's id. Drives
//! are named by absolute paths.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use shoal_volume::RequestError;

use crate::failure::ErrorDocument;
use crate::state::StateDocument;

/// The longest line; a longer one ends the connection.
pub const LINE_BYTES_MAX: usize = 16 << 10;
/// The longest read or write.
pub const TRANSFER_BYTES_MAX: u32 = 1 << 20;
/// Requests that are worked on at a time for one client; its next ones wait in the socket.
pub const REQUESTS_MAX: u32 = 4;

/// A request and the client's name for it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Request<C> {
    /// Handed back with the answer.
    pub id: u64,
    /// What to do.
    #[serde(flatten)]
    pub command: C,
}

/// What can be done to an array while it runs. The answer is its state afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", content = "arguments", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Command {
    /// Nothing: show it.
    Status,
    /// Take a member out. It is not written any more.
    Fail {
        /// The member.
        member: PathBuf,
    },
    /// Add a drive: as a spare, or in the place of a missing member. What it holds is lost.
    Add {
        /// The drive.
        drive: PathBuf,
        /// Even if it holds something.
        force: bool,
    },
    /// Let a drive go that failed, or that is a spare; it can be unplugged then.
    Remove {
        /// The drive.
        drive: PathBuf,
    },
    /// Copy a member that still works to another drive, which then takes its place.
    Replace {
        /// The member.
        member: PathBuf,
        /// A spare of the array, or a drive that is none; what it holds is lost.
        drive: PathBuf,
        /// Even if it holds something.
        force: bool,
    },
    /// Take a drive back that was a member, and copy only what changed meanwhile.
    ReAdd {
        /// The drive.
        drive: PathBuf,
    },
    /// Give it more members, another chunk or another layout, if the kernel runs it; what is left
    /// out stays.
    Grow {
        /// Members of the complete array.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raid_devices: Option<usize>,
        /// The chunk.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        chunk_bytes: Option<u32>,
        /// The layout, as `create` takes it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        layout: Option<String>,
        /// Drives to add; what they hold is lost. Spares of the array are used besides.
        #[serde(default)]
        add: Vec<PathBuf>,
        /// Even if they hold something.
        #[serde(default)]
        force: bool,
    },
    /// Give it another name, unless the kernel runs it.
    Rename {
        /// The name.
        name: String,
        /// The host's name, put before the array's if both fit and that names no host itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        homehost: Option<String>,
    },
    /// Compare parity and mirrors with the data. What cannot be read is written anew where the
    /// others agree, unless the array is open for reading only.
    Scrub {
        /// Make what disagrees agree: parity with the data, copies with what most of them hold, or
        /// with the first where no majority holds the same.
        #[serde(default)]
        keep_data: bool,
    },
    /// End the scrub under way.
    StopScrub,
    /// Change the rates of background work; what is left out stays.
    Speed {
        /// At least this fast while requests are served.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        min_bytes_per_s: Option<u64>,
        /// Never faster.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_bytes_per_s: Option<u64>,
    },
    /// Bring the array to rest and end its process.
    Stop,
}

impl Command {
    /// The drives that it names.
    pub fn drives(&mut self) -> Vec<&mut PathBuf> {
        match self {
            Self::Fail { member } => vec![member],
            Self::Add { drive, .. } | Self::Remove { drive } | Self::ReAdd { drive } => vec![drive],
            Self::Replace { member, drive, .. } => vec![member, drive],
            Self::Grow { add, .. } => add.iter_mut().collect(),
            Self::Status
            | Self::Rename { .. }
            | Self::Scrub { .. }
            | Self::StopScrub
            | Self::Speed { .. }
            | Self::Stop => Vec::new(),
        }
    }
}

/// What can be done to an array's content. Offsets and lengths are multiples of its logical block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "command", content = "arguments", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Content {
    /// The bytes follow the answer's line.
    Read {
        /// First byte.
        offset: u64,
        /// How many, at most 1 MiB.
        length: u32,
    },
    /// The bytes follow the request's line.
    Write {
        /// First byte.
        offset: u64,
        /// How many, at most 1 MiB.
        length: u32,
    },
    /// Make durable what was written.
    Flush,
}

/// Either kind of request, as a line.
#[derive(Debug, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "it is there for its schema: a line is read as the one or the other")]
pub enum RequestLine {
    /// To administer the array.
    Administer(Request<Command>),
    /// To read or write it.
    Content(Request<Content>),
}

/// An answer.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// The request's; left out if that could not be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of a request.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was done, and the array is so.
    State(Box<StateDocument>),
    /// So many bytes of content follow this line.
    Content {
        /// How many.
        bytes: u32,
    },
    /// It was written, or made durable.
    Done {},
    /// The content could not be read or written.
    Fault(FaultDocument),
    /// It was not done.
    Error(ErrorDocument),
}

/// Why content could not be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultDocument {
    /// The range does not lie within the array.
    OutOfRange,
    /// Offset or length is no multiple of the logical block.
    Misaligned,
    /// Too few members are left to have the bytes from here on.
    Lost {
        /// First byte.
        offset: u64,
    },
    /// The array has lost too many members, and takes no writes.
    Failed,
    /// The members cannot read the bytes from here on.
    Unreadable {
        /// First byte.
        offset: u64,
    },
    /// The array is open for reading only.
    ReadOnly,
    /// The level or its members cannot do this.
    Unsupported,
}

impl From<RequestError> for FaultDocument {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::OutOfRange => Self::OutOfRange,
            RequestError::Misaligned => Self::Misaligned,
            RequestError::Lost { offset } => Self::Lost { offset },
            RequestError::Failed => Self::Failed,
            RequestError::Unreadable { offset } => Self::Unreadable { offset },
            RequestError::ReadOnly => Self::ReadOnly,
            RequestError::Unsupported => Self::Unsupported,
        }
    }
}

impl From<FaultDocument> for RequestError {
    fn from(fault: FaultDocument) -> Self {
        match fault {
            FaultDocument::OutOfRange => Self::OutOfRange,
            FaultDocument::Misaligned => Self::Misaligned,
            FaultDocument::Lost { offset } => Self::Lost { offset },
            FaultDocument::Failed => Self::Failed,
            FaultDocument::Unreadable { offset } => Self::Unreadable { offset },
            FaultDocument::ReadOnly => Self::ReadOnly,
            FaultDocument::Unsupported => Self::Unsupported,
        }
    }
}

/// A line that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// To administer the array.
    Administer(Command),
    /// To read or write it.
    Content(Content),
}

/// Reads a request's line.
pub fn parse(line: &[u8]) -> Result<(u64, Asked), (Option<u64>, String)> {
    #[derive(Deserialize)]
    struct Head {
        id: u64,
        command: String,
    }
    let head: Head = serde_json::from_slice(line).map_err(|error| (None, error.to_string()))?;
    let asked = match head.command.as_str() {
        "read" | "write" | "flush" => {
            serde_json::from_slice(line).map(|it: Request<Content>| Asked::Content(it.command))
        }
        _ => serde_json::from_slice(line).map(|it: Request<Command>| Asked::Administer(it.command)),
    };
    asked.map(|asked| (head.id, asked)).map_err(|error| (Some(head.id), error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_as_they_are_written() {
        for command in [
            Command::Status,
            Command::Fail { member: "/dev/sdb".into() },
            Command::Add { drive: "/dev/sdb".into(), force: true },
            Command::ReAdd { drive: "/dev/sdb".into() },
            Command::Remove { drive: "/dev/sdb".into() },
            Command::Replace { member: "/a".into(), drive: "/b".into(), force: true },
            Command::Speed { min_bytes_per_s: None, max_bytes_per_s: Some(7) },
            Command::Scrub { keep_data: true },
            Command::Rename { name: "lake".to_owned(), homehost: Some("vm".to_owned()) },
            Command::StopScrub,
            Command::Grow {
                raid_devices: Some(4),
                chunk_bytes: None,
                layout: Some("left-asymmetric".to_owned()),
                add: vec!["/dev/sde".into()],
                force: false,
            },
        ] {
            let line = serde_json::to_vec(&Request { id: 9, command: command.clone() }).unwrap_or_default();
            assert_eq!(parse(&line), Ok((9, Asked::Administer(command))));
        }
        for command in [Content::Read { offset: u64::MAX, length: 512 }, Content::Flush] {
            let line = serde_json::to_vec(&Request { id: 0, command }).unwrap_or_default();
            assert_eq!(parse(&line), Ok((0, Asked::Content(command))));
        }
    }

    #[test]
    fn what_is_not_understood_is_named() {
        for (line, id, word) in [
            ("", None, "EOF"),
            ("no json", None, "expected"),
            (r#"{"command":"status"}"#, None, "id"),
            (r#"{"id":-1,"command":"status"}"#, None, "-1"),
            (r#"{"id":4,"command":"explode"}"#, Some(4), "explode"),
            (r#"{"id":4,"command":"fail"}"#, Some(4), "arguments"),
            (r#"{"id":4,"command":"fail","arguments":{}}"#, Some(4), "member"),
            (r#"{"id":4,"command":"fail","arguments":{"member":"/a","more":1}}"#, Some(4), "more"),
            (r#"{"id":4,"command":"read","arguments":{"offset":0,"length":99999999999}}"#, Some(4), "99999999999"),
        ] {
            let (found, why) = parse(line.as_bytes()).expect_err("it makes no sense");
            assert_eq!(found, id, "{line}");
            assert!(why.contains(word), "{line}: {why}");
        }
    }
}
