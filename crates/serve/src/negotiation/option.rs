//! What each option does.

use super::{Agreement, Negotiation, Step, TlsStage, answer};
use crate::limits::{PAYLOAD_BYTES_MAX, STRING_BYTES_MAX};
use crate::protocol::{INCARNATION, info, option, reply};

/// The one metadata context that there is.
const ALLOCATION: &str = "base:allocation";
/// Asks for all contexts of the namespace.
const ALL_OF_BASE: &str = "base:";
/// Its number on every connection.
pub(crate) const ALLOCATION_ID: u32 = 1;

/// Why an option is not done: the kind of reply, and a sentence for people.
struct Refusal(u32, String);

fn refused(kind: u32, why: &str) -> Refusal {
    Refusal(kind, why.to_owned())
}

impl Negotiation<'_> {
    /// Does what an option asks for. Nothing is returned if the next option may come.
    pub(super) fn option(&mut self, number: u32, data: &[u8], replies: &mut Vec<u8>) -> Option<Step> {
        if self.tls == TlsStage::Required && !matches!(number, option::STARTTLS | option::ABORT) {
            // This one has no way to say no.
            if number == option::EXPORT_NAME {
                return Some(Step::End);
            }
            answer(replies, number, reply::TLS_REQUIRED, b"this server tells nothing without TLS: start it first");
            return None;
        }
        let done = match number {
            option::EXPORT_NAME => return Some(self.open_by_name(data, replies)),
            option::ABORT => {
                answer(replies, number, reply::ACK, &[]);
                return Some(Step::End);
            }
            option::LIST => self.list(data, replies),
            option::STARTTLS => self.start_tls(data),
            option::INFO | option::GO => self.tell(number, data, replies),
            option::STRUCTURED_REPLY => self.structure(data),
            option::LIST_META_CONTEXT => self.list_contexts(data, replies),
            option::SET_META_CONTEXT => self.set_contexts(data, replies),
            _ => Err(refused(reply::UNSUPPORTED, "this server does not know the option")),
        };
        match done {
            Ok(step) => {
                answer(replies, number, reply::ACK, &[]);
                step
            }
            Err(Refusal(kind, why)) => {
                answer(replies, number, kind, why.as_bytes());
                None
            }
        }
    }

    fn agreement(&self, export: usize) -> Agreement {
        let block_status = self.structured && self.allocation_of == Some(export);
        Agreement { export, structured: self.structured, block_status }
    }

    fn open_by_name(&self, name: &[u8], replies: &mut Vec<u8>) -> Step {
        let Some(number) = self.exports.find(name) else { return Step::End };
        let export = self.exports.at(number);
        replies.extend_from_slice(&export.size_bytes.to_be_bytes());
        replies.extend_from_slice(&export.flags(self.structured).to_be_bytes());
        if !self.no_zeroes {
            replies.extend_from_slice(&[0; 124]);
        }
        Step::Transmit(self.agreement(number))
    }

    fn list(&self, data: &[u8], replies: &mut Vec<u8>) -> Result<Option<Step>, Refusal> {
        no_data(data)?;
        for export in self.exports.iter() {
            let name = export.name.as_bytes();
            let length = u32::try_from(name.len()).expect("names are short");
            let server = [&length.to_be_bytes(), name, export.description.as_bytes()].concat();
            answer(replies, option::LIST, reply::SERVER, &server);
        }
        Ok(None)
    }

    fn start_tls(&self, data: &[u8]) -> Result<Option<Step>, Refusal> {
        no_data(data)?;
        match self.tls {
            TlsStage::Required => Ok(Some(Step::StartTls)),
            TlsStage::Established => Err(refused(reply::INVALID, "TLS is there already")),
            TlsStage::Absent => Err(refused(reply::POLICY, "this server was started without TLS")),
        }
    }

    fn structure(&mut self, data: &[u8]) -> Result<Option<Step>, Refusal> {
        no_data(data)?;
        self.structured = true;
        Ok(None)
    }

    /// INFO and GO: what an export is like; after GO it is opened.
    fn tell(&self, number: u32, data: &[u8], replies: &mut Vec<u8>) -> Result<Option<Step>, Refusal> {
        let mut fields = Fields(data);
        let name = fields.string()?;
        let count = fields.u16()?;
        let wanted = (0..count).map(|_| fields.u16()).collect::<Result<Vec<_>, _>>()?;
        fields.end()?;
        let unknown = || refused(reply::UNKNOWN, "there is no such export: LIST names those that there are");
        let found = self.exports.find(name).ok_or_else(unknown)?;
        let export = self.exports.at(found);
        let mut inform = |kind: u16, data: &[u8]| {
            answer(replies, number, reply::INFO, &[&kind.to_be_bytes(), data].concat());
        };
        let flags = export.flags(self.structured);
        inform(info::EXPORT, &[&export.size_bytes.to_be_bytes()[..], &flags.to_be_bytes()].concat());
        if wanted.contains(&info::NAME) {
            inform(info::NAME, export.name.as_bytes());
        }
        if wanted.contains(&info::DESCRIPTION) {
            inform(info::DESCRIPTION, export.description.as_bytes());
        }
        if wanted.contains(&info::BLOCK_SIZE) {
            // Requests of any size and place are served; those that are not made of blocks cost a
            // read before the write.
            let sizes = [1, self.exports.preferred_block_bytes(), PAYLOAD_BYTES_MAX];
            inform(info::BLOCK_SIZE, sizes.map(u32::to_be_bytes).as_flattened());
        }
        Ok((number == option::GO).then(|| Step::Transmit(self.agreement(found))))
    }

    fn list_contexts(&self, data: &[u8], replies: &mut Vec<u8>) -> Result<Option<Step>, Refusal> {
        let Contexts { queries, .. } = self.contexts(data)?;
        if queries.is_empty() || queries.iter().any(|&query| [ALLOCATION, ALL_OF_BASE].contains(&query)) {
            answer(replies, option::LIST_META_CONTEXT, reply::META_CONTEXT, &context(0));
        }
        let incarnation = self.exports.incarnation();
        if !incarnation.is_empty() && queries.contains(&INCARNATION) {
            let told = [&0_u32.to_be_bytes()[..], format!("{INCARNATION}:{incarnation}").as_bytes()].concat();
            answer(replies, option::LIST_META_CONTEXT, reply::META_CONTEXT, &told);
        }
        Ok(None)
    }

    fn set_contexts(&mut self, data: &[u8], replies: &mut Vec<u8>) -> Result<Option<Step>, Refusal> {
        self.allocation_of = None;
        let Contexts { export, queries } = self.contexts(data)?;
        if queries.contains(&ALLOCATION) {
            self.allocation_of = Some(export);
            answer(replies, option::SET_META_CONTEXT, reply::META_CONTEXT, &context(ALLOCATION_ID));
        }
        Ok(None)
    }

    fn contexts<'d>(&self, data: &'d [u8]) -> Result<Contexts<'d>, Refusal> {
        if !self.structured {
            return Err(refused(reply::INVALID, "metadata contexts need structured replies: agree on those first"));
        }
        let mut fields = Fields(data);
        let name = fields.string()?;
        let count = fields.u32()?;
        // Each takes four bytes at least, so the number of them is bounded by the option's length.
        let mut queries = Vec::new();
        for _ in 0..count {
            // Whatever is no text is of a namespace that is not known here, and passed over.
            queries.push(std::str::from_utf8(fields.string()?).unwrap_or_default());
        }
        fields.end()?;
        let export = self.exports.find(name).ok_or_else(|| refused(reply::UNKNOWN, "there is no such export"))?;
        Ok(Contexts { export, queries })
    }
}

/// What is asked of metadata contexts.
struct Contexts<'d> {
    export: usize,
    queries: Vec<&'d str>,
}

fn context(id: u32) -> Vec<u8> {
    [&id.to_be_bytes()[..], ALLOCATION.as_bytes()].concat()
}

fn no_data(data: &[u8]) -> Result<(), Refusal> {
    if data.is_empty() { Ok(()) } else { Err(refused(reply::INVALID, "the option has no data")) }
}

/// What is left of an option's data.
struct Fields<'d>(&'d [u8]);

impl<'d> Fields<'d> {
    fn bytes(&mut self, length: usize) -> Result<&'d [u8], Refusal> {
        let short = || refused(reply::INVALID, "the option's data end too early");
        let (bytes, rest) = self.0.split_at_checked(length).ok_or_else(short)?;
        self.0 = rest;
        Ok(bytes)
    }

    fn u16(&mut self) -> Result<u16, Refusal> {
        Ok(u16::from_be_bytes(*self.bytes(2)?.first_chunk().expect("two bytes")))
    }

    fn u32(&mut self) -> Result<u32, Refusal> {
        Ok(u32::from_be_bytes(*self.bytes(4)?.first_chunk().expect("four bytes")))
    }

    /// Its length, and so many bytes.
    fn string(&mut self) -> Result<&'d [u8], Refusal> {
        let length = self.u32()? as usize;
        if length > STRING_BYTES_MAX {
            return Err(refused(reply::INVALID, "the option has a string that is too long"));
        }
        self.bytes(length)
    }

    fn end(&self) -> Result<(), Refusal> {
        if self.0.is_empty() { Ok(()) } else { Err(refused(reply::INVALID, "the option's data go on too long")) }
    }
}
