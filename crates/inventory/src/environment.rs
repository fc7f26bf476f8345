//! What a program's surroundings say: where things are kept, and who hears what is told on the
//! side.

use std::ffi::OsString;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::{fmt, io};

use shoal_documents::{Fault, HasFault};
use shoal_memory::Store;

/// If this variable is set, what is kept from one start to the next goes there: for tests, and
/// services with a place of their own.
pub const STATE_VARIABLE: &str = "SHOAL_STATE_DIRECTORY";
/// If this variable is set, sockets of running arrays go there: for services, containers and tests
/// with a place of their own.
pub const RUNTIME_VARIABLE: &str = "SHOAL_RUNTIME_DIRECTORY";

/// Where this user's things are kept, and who hears what is told on the side.
#[derive(Clone)]
pub struct Environment {
    state: Option<PathBuf>,
    runtime: PathBuf,
    listener: Arc<dyn Fn(&str) + Send + Sync>,
}

impl fmt::Debug for Environment {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { state, runtime, listener: _ } = self;
        formatter.debug_struct("Environment").field("state", state).field("runtime", runtime).finish_non_exhaustive()
    }
}

/// Why there is no place for what is to be kept.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// The user has no home.
    #[error("there is no home: say where to {what} with {STATE_VARIABLE}")]
    NoHome {
        /// What was to be kept, as "keep alerts".
        what: &'static str,
    },
    /// The directory cannot be made.
    #[error("{}: {source}", directory.display())]
    Directory {
        /// Which.
        directory: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

impl HasFault for EnvironmentError {
    fn fault(&self) -> Fault {
        match self {
            Self::NoHome { .. } => Fault::Usage,
            Self::Directory { .. } => Fault::Failed,
        }
    }
}

impl Environment {
    /// What these variables of the environment mean for the user who runs this process. `listener`
    /// hears what people should know, a line each.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<OsString>,
        listener: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        let user = rustix::process::geteuid().as_raw();
        let named = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let of_user = || {
            let state = named("XDG_STATE_HOME").or_else(|| named("HOME").map(|home| home.join(".local/state")));
            state.map(|state| state.join("shoal"))
        };
        let state = match user {
            0 => Some(PathBuf::from("/var/lib/shoal")),
            _ => of_user(),
        };
        let runtime = match (user, named("XDG_RUNTIME_DIR")) {
            (0, _) => PathBuf::from("/run/shoal"),
            (_, Some(directory)) => directory.join("shoal"),
            (user, None) => PathBuf::from(format!("/tmp/shoal-{user}")),
        };
        Self {
            state: named(STATE_VARIABLE).or(state),
            runtime: named(RUNTIME_VARIABLE).unwrap_or(runtime),
            listener: Arc::new(listener),
        }
    }

    /// The same where nobody hears what is told on the side: of an attempt that tells it again when
    /// it is made in earnest.
    pub fn muted(&self) -> Self {
        Self { listener: Arc::new(|_| {}), ..self.clone() }
    }

    /// Where what is kept from one start to the next goes, whether it is there or not; none for a
    /// user without a home.
    pub fn state_directory(&self) -> Option<PathBuf> {
        self.state.clone()
    }

    /// Makes that directory, for this user alone, to keep `what` there.
    pub fn make_state_directory(&self, what: &'static str) -> Result<PathBuf, EnvironmentError> {
        let directory = self.state_directory().ok_or(EnvironmentError::NoHome { what })?;
        match std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&directory) {
            Ok(()) => Ok(directory),
            Err(source) => Err(EnvironmentError::Directory { directory, source }),
        }
    }

    /// Where the sockets of running arrays are, whether it is there or not.
    pub fn runtime_directory(&self) -> PathBuf {
        self.runtime.clone()
    }

    /// What this host remembers of its arrays; none for a user without a home.
    pub fn store(&self) -> Option<Store> {
        self.state_directory().map(Store::new)
    }

    /// Tells something on the side.
    pub fn tell(&self, line: &str) {
        (self.listener)(line);
    }

    /// Tells several things.
    pub fn tell_all(&self, lines: &[String]) {
        lines.iter().for_each(|line| self.tell(line));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    fn of(variables: &[(&str, &str)]) -> Environment {
        let variable = |name: &str| {
            let set = variables.iter().find(|(other, _)| *other == name);
            set.map(|(_, value)| OsString::from(*value))
        };
        Environment::from_variables(variable, |_| ())
    }

    #[test]
    fn places_that_are_named_come_first_if_they_are_absolute() {
        let named = of(&[(STATE_VARIABLE, "/a"), (RUNTIME_VARIABLE, "/b"), ("XDG_RUNTIME_DIR", "/c"), ("HOME", "/d")]);
        assert_eq!((named.state_directory(), named.runtime_directory()), (Some("/a".into()), "/b".into()));
        let relative = of(&[(STATE_VARIABLE, "a"), (RUNTIME_VARIABLE, "b")]);
        assert_ne!(relative.state_directory(), Some("a".into()));
        assert_ne!(relative.runtime_directory(), PathBuf::from("b"));
    }

    #[test]
    fn what_is_told_is_heard() {
        let heard = Arc::new(Mutex::new(Vec::new()));
        let ear = Arc::clone(&heard);
        let hear = move |line: &str| ear.lock().expect("nobody panics").push(line.to_owned());
        Environment::from_variables(|_| None, hear).tell_all(&["one".to_owned(), "two".to_owned()]);
        assert_eq!(*heard.lock().expect("nobody panics"), ["one", "two"]);
    }

    #[test]
    fn the_directory_is_made_for_this_user_alone() {
        use std::os::unix::fs::PermissionsExt;
        let place = tempfile::tempdir().expect("there is room");
        let inner = place.path().join("x/y");
        let environment = of(&[(STATE_VARIABLE, inner.to_str().expect("it is text"))]);
        let made = environment.make_state_directory("keep alerts").expect("there is room");
        let mode = made.metadata().expect("it is there").permissions().mode();
        assert_eq!((made, mode & 0o777), (inner, 0o700));
    }
}
