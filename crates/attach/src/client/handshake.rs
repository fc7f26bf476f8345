//! The handshake from the client's side, as a machine without hands: what the server says goes in,
//! what it is to be told comes out.
//!
//! ```text
//!  greeting ──► flags, STRUCTURED_REPLY, LIST_META_CONTEXT, GO ──► answer to each ──► terms
//! ```
//!
//! The options go out together: a client that knows what it wants need not wait for each answer.
//! Whatever comes, no more than one answer of [`ANSWER_BYTES_MAX`] is kept.

use std::fmt;
use std::str::FromStr;

use shoal_serve::PAYLOAD_BYTES_MAX;
use shoal_serve::protocol::{
    GREETING, INCARNATION, OPTION, OPTION_REPLY, handshake, info, option, reply, transmission,
};
use shoal_volume::Incarnation;

use crate::limits::{ANSWER_BYTES_MAX, ANSWERS_MAX};

const GREETING_BYTES: usize = 18;
const ANSWER_HEADER_BYTES: usize = 20;

/// What the server has promised. As text it is one line, so that a process can hand it to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    pub(crate) size_bytes: u64,
    /// What the export can do, in the protocol's bits.
    pub(crate) flags: u16,
    /// Whether answers to reads are structured.
    pub(crate) is_structured: bool,
    /// What people, and clients that come again, are told of the export; empty if nothing.
    pub(crate) description: String,
    pub(crate) block_bytes: BlockBytes,
    /// Whose content it is at this moment; unlike the rest it may be another when the server comes
    /// again.
    pub(crate) incarnation: Incarnation,
}

/// How requests should be, and have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockBytes {
    pub(crate) least: u32,
    pub(crate) preferred: u32,
    pub(crate) most: u32,
}

impl fmt::Display for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { size_bytes, flags, is_structured, description, block_bytes, incarnation } = self;
        let BlockBytes { least, preferred, most } = block_bytes;
        let structured = u8::from(*is_structured);
        write!(f, "{size_bytes} {flags} {structured} {least} {preferred} {most} {incarnation}; {description}")
    }
}

/// The text is none of [`Terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no terms of a server's")]
pub struct TermsError;

impl FromStr for Terms {
    type Err = TermsError;

    fn from_str(text: &str) -> Result<Self, TermsError> {
        fn number<T: FromStr>(words: &mut std::str::SplitN<'_, char>) -> Result<T, TermsError> {
            words.next().and_then(|word| word.parse().ok()).ok_or(TermsError)
        }
        let words = &mut text.splitn(7, ' ');
        let (size_bytes, flags, is_structured) = (number(words)?, number(words)?, number::<u8>(words)? != 0);
        let block_bytes = BlockBytes { least: number(words)?, preferred: number(words)?, most: number(words)? };
        let (incarnation, description) = words.next().and_then(|rest| rest.split_once("; ")).ok_or(TermsError)?;
        let (incarnation, description) = (Incarnation::parse(incarnation), description.to_owned());
        Ok(Self { size_bytes, flags, is_structured, description, block_bytes, incarnation })
    }
}

/// Why there is nothing to be agreed on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// It does not begin as an NBD server does.
    #[error("no NBD server that can be talked with listens there")]
    NoServer,
    /// It makes no sense.
    #[error("the server's handshake makes no sense: {0}")]
    Nonsense(&'static str),
    /// It has no such export.
    #[error("the server has no export `{export}`{}", why(.said))]
    UnknownExport {
        /// Its name.
        export: String,
        /// What the server says of it.
        said: String,
    },
    /// It talks under TLS only.
    #[error("the server demands TLS, which this client has not: serve it at a Unix socket, or on a loopback address")]
    TlsRequired,
    /// It does not want to.
    #[error("the server refuses export `{export}`{}", why(.said))]
    Refused {
        /// Its name.
        export: String,
        /// What the server says of it.
        said: String,
    },
}

fn why(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(": {said}") }
}

/// The client's side of the handshake with a server. It does no I/O: bytes go in, and what is to be
/// sent comes out.
#[derive(Debug)]
pub(crate) struct Handshake {
    export: String,
    wants_structured: bool,
    input: Vec<u8>,
    is_greeted: bool,
    answers: u32,
    terms: Terms,
    has_export: bool,
}

impl Handshake {
    /// For one export; the empty name is the server's first.
    pub(crate) fn new(export: &str, wants_structured: bool) -> Self {
        let preferred = BlockBytes { least: 1, preferred: 4096, most: PAYLOAD_BYTES_MAX };
        let (size_bytes, flags, description) = (0, 0, String::new());
        let incarnation = Incarnation::default();
        let terms = Terms { size_bytes, flags, is_structured: false, description, block_bytes: preferred, incarnation };
        let (input, export) = (Vec::new(), export.to_owned());
        Self { export, wants_structured, input, is_greeted: false, answers: 0, terms, has_export: false }
    }

    /// Takes in what was received, and appends what is to be said. The terms, once they are there:
    /// from then on requests may be sent.
    pub(crate) fn receive(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> Result<Option<Terms>, HandshakeError> {
        self.input.extend_from_slice(bytes);
        if !self.is_greeted {
            let Some(greeting) = self.input.first_chunk::<GREETING_BYTES>().copied() else {
                let expected = GREETING.to_be_bytes();
                let begun = self.input.len().min(expected.len());
                let is_one = self.input[..begun] == expected[..begun];
                return if is_one { Ok(None) } else { Err(HandshakeError::NoServer) };
            };
            self.input.drain(..GREETING_BYTES);
            self.greet(&greeting, output)?;
        }
        while let Some(header) = self.input.first_chunk::<ANSWER_HEADER_BYTES>().copied() {
            let word = |at: usize| u32::from_be_bytes(*header[at..].first_chunk().expect("it has 20 bytes"));
            let (option, kind, length) = (word(8), word(12), word(16) as usize);
            self.answers += 1;
            if header[..8] != OPTION_REPLY.to_be_bytes() || length > ANSWER_BYTES_MAX || self.answers > ANSWERS_MAX {
                return Err(HandshakeError::Nonsense("an answer to an option is none, or too long"));
            }
            if self.input.len() < ANSWER_HEADER_BYTES + length {
                // It is looked at again when it is complete.
                self.answers -= 1;
                return Ok(None);
            }
            let data: Vec<u8> = self.input.drain(..ANSWER_HEADER_BYTES + length).skip(ANSWER_HEADER_BYTES).collect();
            if self.answer(option, kind, &data)? {
                return self.agree().map(Some);
            }
        }
        Ok(None)
    }

    fn greet(&mut self, greeting: &[u8; GREETING_BYTES], output: &mut Vec<u8>) -> Result<(), HandshakeError> {
        let flags = u16::from_be_bytes([greeting[16], greeting[17]]);
        let is_newstyle = greeting[..8] == GREETING.to_be_bytes() && greeting[8..16] == OPTION.to_be_bytes();
        if !is_newstyle || flags & handshake::FIXED_NEWSTYLE == 0 {
            return Err(HandshakeError::NoServer);
        }
        self.is_greeted = true;
        let own = flags & (handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
        output.extend_from_slice(&u32::from(own).to_be_bytes());
        let name = self.export.as_bytes();
        let length =
            u32::try_from(name.len()).map_err(|_| HandshakeError::Nonsense("the export's name is too long"))?;
        if self.wants_structured {
            say(output, option::STRUCTURED_REPLY, &[]);
            let query_bytes = u32::try_from(INCARNATION.len()).expect("it is short");
            let query = [&1_u32.to_be_bytes()[..], &query_bytes.to_be_bytes(), INCARNATION.as_bytes()].concat();
            say(output, option::LIST_META_CONTEXT, &[&length.to_be_bytes()[..], name, &query].concat());
        }
        let wanted = [info::DESCRIPTION, info::BLOCK_SIZE].map(u16::to_be_bytes).concat();
        say(output, option::GO, &[&length.to_be_bytes()[..], name, &2_u16.to_be_bytes(), &wanted].concat());
        Ok(())
    }

    /// Takes one answer; whether it was the last.
    fn answer(&mut self, option: u32, kind: u32, data: &[u8]) -> Result<bool, HandshakeError> {
        match (option, kind) {
            (option::STRUCTURED_REPLY, kind) if self.wants_structured => {
                self.terms.is_structured = kind == reply::ACK;
                Ok(false)
            }
            (option::LIST_META_CONTEXT, reply::META_CONTEXT) if self.wants_structured => {
                // Behind the number of the context, which is of no use here.
                let told = data.get(4..).and_then(|name| std::str::from_utf8(name).ok());
                if let Some(word) = told.and_then(|name| name.strip_prefix(INCARNATION)?.strip_prefix(':')) {
                    self.terms.incarnation = Incarnation::parse(word);
                }
                Ok(false)
            }
            // That was all; or a server of others, which knows nothing of it.
            (option::LIST_META_CONTEXT, _) if self.wants_structured => Ok(false),
            (option::GO, reply::INFO) => self.inform(data).map(|()| false),
            (option::GO, reply::ACK) => Ok(true),
            (option::GO, kind) => {
                let (export, said) = (self.export.clone(), String::from_utf8_lossy(data).into_owned());
                Err(match kind {
                    reply::UNKNOWN => HandshakeError::UnknownExport { export, said },
                    reply::TLS_REQUIRED => HandshakeError::TlsRequired,
                    _ => HandshakeError::Refused { export, said },
                })
            }
            _ => Err(HandshakeError::Nonsense("an answer to an option that was not asked for")),
        }
    }

    /// Takes a piece of information about the export.
    fn inform(&mut self, data: &[u8]) -> Result<(), HandshakeError> {
        let short = HandshakeError::Nonsense("information about the export is cut short");
        let (kind, rest) = data.split_first_chunk::<2>().ok_or(short.clone())?;
        match u16::from_be_bytes(*kind) {
            info::EXPORT => {
                let (size, flags) = rest.split_first_chunk::<8>().ok_or(short.clone())?;
                self.terms.size_bytes = u64::from_be_bytes(*size);
                self.terms.flags = u16::from_be_bytes(*flags.first_chunk().ok_or(short)?);
                self.has_export = true;
            }
            info::DESCRIPTION => self.terms.description = String::from_utf8_lossy(rest).into_owned(),
            info::BLOCK_SIZE => {
                let words = rest.first_chunk::<12>().ok_or(short)?;
                let word = |at: usize| u32::from_be_bytes(*words[at..].first_chunk().expect("it has 12 bytes"));
                self.terms.block_bytes = BlockBytes { least: word(0), preferred: word(4), most: word(8) };
            }
            _ => {}
        }
        Ok(())
    }

    fn agree(&self) -> Result<Terms, HandshakeError> {
        let nonsense = |what| Err(HandshakeError::Nonsense(what));
        let BlockBytes { least, preferred, most } = self.terms.block_bytes;
        if !self.has_export || self.terms.flags & transmission::HAS_FLAGS == 0 {
            return nonsense("it does not tell what the export is");
        }
        if !least.is_power_of_two() || !preferred.is_power_of_two() || preferred < least || most < preferred {
            return nonsense("its block sizes contradict each other");
        }
        if !self.input.is_empty() {
            return nonsense("it answers before it is asked");
        }
        Ok(self.terms.clone())
    }
}

/// Appends an option.
fn say(output: &mut Vec<u8>, number: u32, data: &[u8]) {
    let length = u32::try_from(data.len()).expect("a name's length was looked at");
    output.extend_from_slice(&OPTION.to_be_bytes());
    output.extend_from_slice(&number.to_be_bytes());
    output.extend_from_slice(&length.to_be_bytes());
    output.extend_from_slice(data);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shoal_serve::{Export, Exports, Negotiation, Step, TlsStage};

    use super::*;

    fn exports() -> Exports {
        let pond = Export::whole("pond", "array 1:2:3:4", 1 << 20, false);
        Exports::new(vec![pond, Export::whole("ice", "", 4096, true)], 1 << 20, 512)
            .unwrap()
            .with_incarnation("a=1,b=2")
    }

    /// A handshake with the server's own machine, `portion` bytes at a time.
    fn shake(export: &str, wants_structured: bool, tls: TlsStage, portion: usize) -> Result<Terms, HandshakeError> {
        let exports = exports();
        let mut server = Negotiation::new(&exports, tls);
        let mut client = Handshake::new(export, wants_structured);
        let mut to_client = Negotiation::greeting();
        loop {
            assert!(!to_client.is_empty(), "both wait for each other");
            let mut to_server = Vec::new();
            for bytes in std::mem::take(&mut to_client).chunks(portion) {
                if let Some(terms) = client.receive(bytes, &mut to_server)? {
                    return Ok(terms);
                }
            }
            for bytes in to_server.chunks(portion) {
                assert!(server.receive(bytes, &mut to_client) != Step::End || !to_client.is_empty());
            }
        }
    }

    #[test]
    fn terms_are_one_line_that_is_read_back() {
        let block_bytes = BlockBytes { least: 1, preferred: 4096, most: 1 << 25 };
        for description in ["", "array 1:2:3:4, run by shoal"] {
            let description = description.to_owned();
            for incarnation in ["", "a=1,b=2"].map(Incarnation::parse) {
                let (size_bytes, description) = (1 << 40, description.clone());
                let terms =
                    Terms { size_bytes, flags: 0x8d, is_structured: true, description, block_bytes, incarnation };
                assert_eq!(terms.to_string().parse(), Ok(terms));
            }
        }
        for text in ["", "1 2 1 1 4096", "1 2 1 1 4096 33554432", "1 70000 1 1 4096 33554432 ; array", "1 2 1 1 1 1 a"]
        {
            assert_eq!(text.parse::<Terms>(), Err(TermsError), "{text}");
        }
    }

    #[test]
    fn client_and_server_come_to_terms_however_the_bytes_come() {
        for portion in [1, 7, 4096] {
            let terms = shake("pond", true, TlsStage::Absent, portion).unwrap();
            assert_eq!(
                (terms.size_bytes, terms.is_structured, terms.description.as_str()),
                (1 << 20, true, "array 1:2:3:4")
            );
            assert_eq!(terms.block_bytes.preferred, 4096);
            assert_eq!(terms.incarnation, Incarnation::parse("b=2,a=1"));
            let terms = shake("ice", false, TlsStage::Absent, portion).unwrap();
            assert_eq!(terms.incarnation, Incarnation::default(), "nobody asked");
            assert!(!terms.is_structured && terms.flags & transmission::READ_ONLY != 0);
        }
    }

    #[test]
    fn what_cannot_be_had_is_named() {
        let unknown = shake("lake", true, TlsStage::Absent, 4096).unwrap_err();
        assert!(unknown.to_string().contains("`lake`"), "{unknown}");
        assert_eq!(shake("pond", true, TlsStage::Required, 4096), Err(HandshakeError::TlsRequired));
        let ssh = Handshake::new("", true).receive(b"SSH-2.0-OpenSSH", &mut Vec::new());
        assert_eq!(ssh, Err(HandshakeError::NoServer));
    }

    proptest! {
        #[test]
        fn no_bytes_panic_or_take_memory(bytes in proptest::collection::vec(any::<u8>(), 0..400), is_greeted in any::<bool>()) {
            let mut client = Handshake::new("pond", true);
            let mut output = Vec::new();
            if is_greeted {
                prop_assert_eq!(client.receive(&Negotiation::greeting(), &mut output), Ok(None));
            }
            let head = [&OPTION_REPLY.to_be_bytes()[..], &option::GO.to_be_bytes(), &reply::INFO.to_be_bytes()].concat();
            let _ = client.receive(&head, &mut output).and_then(|_| client.receive(&bytes, &mut output));
            prop_assert!(client.input.len() <= 500 && output.len() < 300);
        }
    }
}
