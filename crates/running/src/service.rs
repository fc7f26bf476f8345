//! A running array as a network block device: the exporter, its listeners, and its turn in the
//! owner's loop.

use std::io;
use std::sync::mpsc::{Receiver, TryRecvError, sync_channel};
use std::time::{Duration, Instant};

use shoal_serve::{Bell, Exporter, Listener};
use shoal_volume::{Completion, LiveVolume, VolumeError};

use crate::engine::Resumption;
use crate::incarnation::with_outages;

/// How long clients may take over what they are owed when the array is stopped.
const FAREWELL: Duration = Duration::from_secs(20);

/// The network block device of a running array: its exporter, its listeners and their place in the
/// owner's loop.
pub struct Service {
    exporter: Exporter,
    /// Their sockets are gone when they are.
    listeners: Vec<Listener>,
    /// Of so many losses those who come are told.
    losses_told: u32,
    /// Where the word for the drives comes from that the array has been put together of. While it
    /// is waited for nobody new is served.
    word: Option<Receiver<String>>,
    /// What people are to be told of it.
    remark: Option<&'static str>,
}

/// Where the word does not come.
const NO_WORD: &str = "which drives are back could not be found out, which is an error of shoal's: clients are served, and hear by a flush that fails \
     that what was not flushed may be lost; `shoal stop` it and start it again when that suits";

impl Service {
    /// Lets clients in.
    pub fn start(exporter: Exporter, listeners: Vec<Listener>) -> io::Result<Self> {
        for listener in &listeners {
            listener.start(exporter.handshakes())?;
        }
        Ok(Self { exporter, listeners, losses_told: 0, word: None, remark: None })
    }

    /// Where it is served.
    pub fn addresses(&self) -> Vec<String> {
        self.listeners.iter().map(|listener| listener.address().to_string()).collect()
    }

    /// Clients that it is served to.
    pub(super) fn clients(&self) -> usize {
        self.exporter.connections()
    }

    /// What wakes the owner.
    pub(super) fn bell(&self) -> Bell {
        self.exporter.bell()
    }

    /// Makes the array wake for clients.
    pub(super) fn attach(&self, array: &mut dyn LiveVolume) -> Result<(), VolumeError> {
        array.watch(self.exporter.file())
    }

    /// Takes in what clients want. Returns how long the owner may wait.
    pub(super) fn serve(&mut self, array: &mut dyn LiveVolume) -> Duration {
        match self.word.as_ref().map(Receiver::try_recv) {
            Some(Ok(word)) => self.tell(&word),
            Some(Err(TryRecvError::Disconnected)) => self.go_on_without_word(),
            None | Some(Err(TryRecvError::Empty)) => {}
        }
        self.exporter.serve(array)
    }

    /// Takes out, and sends, the answers to what clients wanted. Returns whether a flush was
    /// refused. Who comes again later hears by another word if something may be lost of what he was
    /// answered.
    pub(super) fn finish(&mut self, array: &mut dyn LiveVolume, completions: &mut Vec<Completion>) -> bool {
        self.exporter.finish(array, completions);
        let losses = self.exporter.losses();
        if std::mem::replace(&mut self.losses_told, losses) < losses {
            let word = with_outages(self.exporter.incarnation(), losses);
            self.exporter.reincarnate(&word);
        }
        self.exporter.take_refusal()
    }

    /// What was answered and not flushed may be lost.
    pub(super) fn lose_unflushed(&mut self) {
        self.exporter.lose_unflushed();
    }

    /// The array goes on after an outage of its drives, which `word` says the incarnation of.
    /// Drives may take their time over that: those who are there are served meanwhile, and those
    /// who come wait for it.
    pub(super) fn resumed(&mut self, resumption: Resumption, word: impl Fn() -> String + Clone + Send + 'static) {
        match resumption {
            Resumption::Whole => {}
            Resumption::Unflushed => self.exporter.lose_unflushed(),
        }
        let (sender, words) = sync_channel(1);
        let (ask, bell) = (word.clone(), self.bell());
        let work = move || {
            // Nobody waits for it any more if there was another outage.
            let _ = sender.send(ask());
            bell.ring();
        };
        if std::thread::Builder::new().name("shoal-drives".to_owned()).spawn(work).is_err() {
            // No thread is to be had: it is waited for.
            return self.tell(&word());
        }
        self.exporter.hold_arrivals();
        self.word = Some(words);
    }

    /// From now on those who come are told this word.
    fn tell(&mut self, word: &str) {
        self.word = None;
        self.losses_told = self.exporter.losses();
        self.exporter.reincarnate(&with_outages(word, self.losses_told));
        self.exporter.take_arrivals();
    }

    /// Who was to find out the word has broken down. Who comes has waited long enough: what is not
    /// known counts as lost.
    fn go_on_without_word(&mut self) {
        self.exporter.lose_unflushed();
        let word = self.exporter.incarnation().to_owned();
        self.tell(&word);
        self.remark = Some(NO_WORD);
    }

    /// What people are to be told, once.
    pub(super) fn take_remark(&mut self) -> Option<&'static str> {
        self.remark.take()
    }

    /// Ends what clients have under way, and sends them away. Returns whether the array has
    /// answered everything, which it has not if a drive does not answer.
    pub(super) fn end(mut self, array: &mut dyn LiveVolume) -> Result<bool, VolumeError> {
        self.listeners.clear();
        self.exporter.end();
        let start = Instant::now();
        // What drives do not answer is answered by then, for them.
        let deadline = self.exporter.deadline();
        let mut completions = Vec::new();
        let mut patience = FAREWELL;
        while !self.exporter.has_ended() && start.elapsed() < patience {
            patience = if self.exporter.is_waiting_for_the_volume() { FAREWELL.max(deadline) } else { FAREWELL };
            let patience = self.exporter.serve(array).min(Duration::from_millis(100));
            array.turn(patience, &mut completions)?;
            self.exporter.finish(array, &mut completions);
            // The administrators' are lost with their sessions.
            completions.clear();
        }
        Ok(!self.exporter.is_waiting_for_the_volume())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::mpsc::channel;

    use shoal_drive::{Access, Drive, IoLoop};
    use shoal_serve::{BUFFER_BYTES_MIN, BUFFERS_MIN, Export, Exports};
    use shoal_volume::{BufferPlan, DriveVolume, RealWorld};

    use super::*;

    fn volume(directory: &Path) -> DriveVolume<RealWorld> {
        let path = directory.join("drive");
        std::fs::File::create(&path).unwrap().set_len(1 << 20).unwrap();
        let drive = Drive::open(&path, Access::Write).unwrap();
        let plan = BufferPlan::for_drives(1, BUFFERS_MIN, BUFFER_BYTES_MIN);
        let arena = plan.arena().unwrap();
        let mut world = RealWorld::new(IoLoop::new(None, arena.clone(), 64).unwrap(), arena);
        let drive = world.add_drive(drive).unwrap();
        DriveVolume::new(world, drive, plan)
    }

    #[test]
    fn drives_that_take_their_time_to_say_who_they_are_hold_nobody_up() {
        let directory = tempfile::tempdir().unwrap();
        let mut volume = volume(directory.path());
        let exports = Exports::new(vec![Export::whole("pond", "", 1 << 20, false)], 1 << 20, 512).unwrap();
        let exporter = Exporter::new(exports.with_incarnation("a=1"), 0..BUFFERS_MIN).unwrap();
        let mut service = Service::start(exporter, Vec::new()).unwrap();
        let (answer, drives) = channel();
        let drives = std::sync::Arc::new(std::sync::Mutex::new(drives));
        service.resumed(Resumption::Unflushed, move || drives.lock().unwrap().recv().unwrap());
        service.serve(&mut volume);
        assert_eq!(service.exporter.incarnation(), "a=1", "they have not said it, and the owner goes on");
        answer.send("a=2".to_owned()).unwrap();
        while service.word.is_some() {
            service.serve(&mut volume);
        }
        assert!(service.exporter.incarnation().ends_with("=outages-1,a=2"), "{}", service.exporter.incarnation());
    }

    #[test]
    fn who_comes_is_served_though_nobody_finds_out_who_the_drives_are() {
        let directory = tempfile::tempdir().unwrap();
        let mut volume = volume(directory.path());
        let exports = Exports::new(vec![Export::whole("pond", "", 1 << 20, false)], 1 << 20, 512).unwrap();
        let exporter = Exporter::new(exports.with_incarnation("a=1"), 0..BUFFERS_MIN).unwrap();
        let mut service = Service::start(exporter, Vec::new()).unwrap();
        service.resumed(Resumption::Whole, || panic!("as is meant in this test"));
        let begun = Instant::now();
        while service.word.is_some() {
            service.serve(&mut volume);
            assert!(begun.elapsed() < Duration::from_secs(60), "who comes waits for ever");
        }
        assert!(service.exporter.incarnation().contains("=outages-1"), "{}", service.exporter.incarnation());
        assert_eq!((service.take_remark(), service.take_remark()), (Some(NO_WORD), None));
    }
}
