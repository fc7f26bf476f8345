//! Passwords of users: from a file, from standard input, or from the terminal; never from an
//! argument.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, Write};
use std::path::Path;

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use shoal_share::machine::Record;
use shoal_share::{Entry, HostName, Ports, Protocol, Site, UserName, has_password, set_password};

use crate::exit::Failure;

/// Sees to it that every user of a share has a password; those that a file names get another one.
pub(super) fn see_to(record: &Record, file: Option<&Path>) -> Result<(), Failure> {
    let given = file.map(read).transpose()?.unwrap_or_default();
    let wanted = [(Protocol::Smb, record.smb), (Protocol::Ftp, record.ftp)];
    let wanted: Vec<Protocol> =
        wanted.into_iter().filter_map(|(protocol, is_wanted)| is_wanted.then_some(protocol)).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let site = site()?;
    for name in &record.users {
        let user: UserName = name.parse().map_err(Failure::usage)?;
        let password = match given.get(name) {
            Some(password) => password.clone(),
            None if wanted.iter().all(|&protocol| has_password(&site, protocol, &user)) => continue,
            None => ask(name)?,
        };
        set_password(&site, &user, &password).map_err(Failure::failed)?;
    }
    Ok(())
}

/// Passwords are the machine's: they have nothing to do with addresses.
fn site() -> Result<Site, Failure> {
    Ok(Site {
        host_name: HostName::of(&rustix::system::uname().nodename().to_string_lossy()),
        addresses: Vec::new(),
        ports: Ports::default(),
        places: super::machine::machine()?.places().map_err(Failure::failed)?,
        entry: Entry::default(),
        tls: None,
    })
}

/// Lines of NAME:PASSWORD.
fn read(path: &Path) -> Result<BTreeMap<String, String>, Failure> {
    let at = |error: io::Error| Failure::Usage(format!("{}: {error}", path.display()));
    let text = if path == Path::new("-") { io::read_to_string(io::stdin()) } else { fs::read_to_string(path) };
    let mut given = BTreeMap::new();
    for (number, line) in (1..).zip(text.map_err(at)?.lines()) {
        let (name, password) = line
            .split_once(':')
            .ok_or_else(|| Failure::Usage(format!("{}: line {number} is not NAME:PASSWORD", path.display())))?;
        given.insert(name.to_owned(), password.to_owned());
    }
    Ok(given)
}

/// Asks at the terminal, twice, without showing what is typed.
fn ask(user: &str) -> Result<String, Failure> {
    let mend = format!("{user} has no password, and there is no terminal to ask at: give --password-file FILE");
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty");
    let mut terminal = terminal.map_err(|_| Failure::Usage(mend))?;
    let before = tcgetattr(&terminal).map_err(Failure::failed)?;
    let mut silent = before.clone();
    silent.local_modes.remove(LocalModes::ECHO);
    tcsetattr(&terminal, OptionalActions::Flush, &silent).map_err(Failure::failed)?;
    let mut lines = [String::new(), String::new()];
    let mut ask = |line: &mut String, what: &str| -> io::Result<()> {
        write!(terminal, "{what}")?;
        io::BufReader::new(&terminal).read_line(line)?;
        writeln!(terminal)
    };
    let asked = ask(&mut lines[0], &format!("Password for {user}: ")).and_then(|()| ask(&mut lines[1], "Once more: "));
    tcsetattr(&terminal, OptionalActions::Flush, &before).map_err(Failure::failed)?;
    asked.map_err(Failure::failed)?;
    let [first, again] = lines.map(|line| line.trim_end_matches(['\r', '\n']).to_owned());
    if first == again { Ok(first) } else { Err(Failure::Usage(format!("the passwords for {user} are not the same"))) }
}
