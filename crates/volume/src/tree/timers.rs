//! When the loop is to look again though no I/O has ended, and what is looked at then.

use shoal_array::{Array, Instant};

use crate::world::World;

use super::{Node, NodeId, Tree};

impl<W: World> Tree<W> {
    /// When an engine wants to be called next, an array may have come to rest, or bits may have
    /// aged.
    pub(crate) fn timer(&self) -> Option<Instant> {
        let engines = self.nodes.iter().flat_map(Node::engines);
        let others =
            self.nodes.iter().flat_map(|node| [node.rest_due(), node.look_due(), node.recorder.due()]).flatten();
        engines
            .filter_map(Array::poll_timeout)
            .chain(others)
            .chain(self.silence_due())
            .chain(self.flights.next_race())
            .chain(self.memory_due())
            .chain(self.write_back_due())
            .min()
    }

    /// Calls whoever's moment has come.
    pub(super) fn fire_timers(&mut self, now: Instant) {
        self.look_for_silence(now);
        self.race_late_reads(now);
        self.tell_flushed(now);
        self.look_at_write_back(now);
        for index in 0..self.nodes.len() {
            for array in self.nodes[index].engines_mut() {
                if array.poll_timeout().is_some_and(|timeout| timeout <= now) {
                    array.handle_timeout(now);
                }
            }
            self.nodes[index].recorder.look(now);
            self.look_for_rest(now, NodeId(index));
            self.look_for_aged(now, NodeId(index));
            self.look_for_checkpoint(now, NodeId(index));
        }
    }
}
