//! A running array as a network block device: the exporter, its listeners, and its turn in the
//! owner's loop.

use std::io;
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
}

impl Service {
    /// Lets clients in.
    pub fn start(exporter: Exporter, listeners: Vec<Listener>) -> io::Result<Self> {
        for listener in &listeners {
            listener.start(exporter.door())?;
        }
        Ok(Self { exporter, listeners })
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
        self.exporter.serve(array)
    }

    /// Takes out, and sends, the answers to what clients wanted. Returns whether a flush was
    /// refused.
    pub(super) fn finish(&mut self, array: &mut dyn LiveVolume, completions: &mut Vec<Completion>) -> bool {
        self.exporter.finish(array, completions);
        self.exporter.take_refusal()
    }

    /// What was answered and not flushed may be lost.
    pub(super) fn lose_unflushed(&mut self) {
        self.exporter.lose_unflushed();
    }

    /// So many outages and refused flushes there were: who comes again hears by another word that something may be lost
    /// of what he was answered.
    pub(super) fn count_outages(&mut self, outages: u32) {
        let word = with_outages(self.exporter.incarnation(), outages);
        self.exporter.reincarnate(&word);
    }

    /// The array goes on after an outage of its drives, which go by this word now.
    pub(super) fn resumed(&mut self, resumption: Resumption, incarnation: &str) {
        self.exporter.reincarnate(incarnation);
        match resumption {
            Resumption::Whole => {}
            Resumption::Unflushed => self.exporter.lose_unflushed(),
        }
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
