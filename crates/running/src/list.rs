//! Which arrays run on this machine, by the sockets in this user's directory.

use std::path::{Path, PathBuf};

use shoal_documents::StateDocument;
use shoal_documents::protocol::Command;
use shoal_inventory::Environment;
use shoal_md::Uuid;

use crate::client::Client;
use crate::handle::{ExecuteError, Handle};
use crate::place;
use crate::wire::ConnectError;

/// A process that runs an array and does not say how that is.
#[derive(Debug, thiserror::Error)]
pub enum Unheard {
    /// It is not reached.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// It does not answer.
    #[error(transparent)]
    Execute(#[from] ExecuteError),
}

/// How each array is that a process of this user's runs; of those that do not say, their UUIDs and
/// why. An array of arrays is one, whichever of its sockets is met first.
pub fn running_arrays(environment: &Environment) -> Vec<Result<StateDocument, (Uuid, Unheard)>> {
    let mut met: Vec<PathBuf> = Vec::new();
    let mut arrays = Vec::new();
    for array in place::arrays(environment) {
        let Ok(socket) = std::fs::canonicalize(place::socket_of(environment, &array.to_string())) else { continue };
        if met.contains(&socket) {
            continue;
        }
        match state_at(&socket) {
            Ok(Some(state)) => arrays.push(Ok(state)),
            Ok(None) => {} // nobody listens
            Err(why) => arrays.push(Err((array, why))),
        }
        met.push(socket);
    }
    arrays
}

fn state_at(socket: &Path) -> Result<Option<StateDocument>, Unheard> {
    let Some(mut client) = Client::connect(socket)? else { return Ok(None) };
    Ok(Some(client.execute(Command::Status)?))
}
