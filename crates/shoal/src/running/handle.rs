//! An array as the commands see it: at hand, or run by another process. One way to do a thing, whoever runs the array.

use std::time::Duration;

use shoal_volume::Volume;

use super::protocol::Command;
use crate::documents::StateDocument;
use crate::exit::Failure;

/// An array that commands act on, whether this process runs it or another one.
pub(crate) trait Handle {
    /// Does something to the array, and says how it is afterwards.
    fn execute(&mut self, command: Command) -> Result<StateDocument, Failure>;
    /// Lets background work go on for so long, or to its end, and says how the array is then.
    fn wait(&mut self, patience: Duration) -> Result<StateDocument, Failure>;
    /// The content. Nothing is in flight in it.
    fn content(&mut self) -> &mut dyn Volume;
    /// Leaves the array in order, and says how it is then. Nothing more is done to it.
    fn finish(&mut self) -> Result<StateDocument, Failure>;
    /// Whether background work goes on when this handle is gone.
    fn goes_on_by_itself(&self) -> bool;
}
