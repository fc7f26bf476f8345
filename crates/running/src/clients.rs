//! Who may be a client of a running array, and is let in.

use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use shoal_documents::protocol::{Answer, Outcome};
use shoal_documents::{ErrorDocument, Fault, HasFault};
use shoal_inventory::Environment;

use crate::jobs::Jobs;
use crate::seats::Clients;
use crate::{place, session};

/// Where connections cannot be taken (too many open files), they are tried again after so long.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Why a client is not let in.
#[derive(Debug, thiserror::Error)]
enum TurnedAway {
    #[error("only the user who runs this array, and root, may administer it")]
    Stranger,
    #[error("too many clients are connected: try again")]
    Crowd,
}

impl HasFault for TurnedAway {
    fn fault(&self) -> Fault {
        match self {
            Self::Stranger => Fault::Refused,
            Self::Crowd => Fault::Busy,
        }
    }
}

/// Takes clients in for as long as the process lives.
pub(super) fn welcome(environment: &Environment, listener: &UnixListener, jobs: &Jobs) {
    let clients = Clients::default();
    for number in 0.. {
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(ACCEPT_AGAIN);
            continue;
        };
        if !place::may_administer(&stream) {
            turn_away(&stream, &TurnedAway::Stranger);
            continue;
        }
        let Some(seat) = clients.seat(number, &stream) else {
            turn_away(&stream, &TurnedAway::Crowd);
            continue;
        };
        let (environment, jobs) = (environment.clone(), jobs.clone());
        let thread = std::thread::Builder::new().name("shoal-client".to_owned());
        // A client for whom there is no thread is gone with its stream.
        let _ = thread.spawn(move || session::serve(&environment, stream, &seat, &jobs));
    }
}

/// Says why, if the client listens, and closes the connection.
fn turn_away(mut stream: &UnixStream, why: &TurnedAway) {
    let outcome = Outcome::Error(ErrorDocument::of(why));
    if let (Ok(mut line), Ok(())) = (serde_json::to_vec(&Answer { id: None, outcome }), stream.set_nonblocking(true)) {
        line.push(b'\n');
        let _ = stream.write_all(&line);
    }
}
