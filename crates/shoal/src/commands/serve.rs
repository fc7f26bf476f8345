//! `shoal serve`: an array in a process of its own, as a network block device.

use std::path::Path;
use std::time::Duration;

use shoal_attach::records::Attachment;
use shoal_documents::{ArrayDocument, HealthDocument};
use shoal_running::{
    Handle, Host, Opening, SERVED_BUFFERS, Server, Service, Users, incarnation, or_alert, socket_for_clients,
    wait_for_members, when_free,
};
use shoal_serve::{Address, Clients, Export, Exporter, Exports, ListenError, Listener, Protection, TlsFiles};
use shoal_volume::{SILENCE, Volume};

use super::run::{
    check_keeping, check_place, from_anywhere, refuse_other_place, refuse_place, refuse_waited_for, speed, tell_holes,
    write_back,
};
use super::status::state_text;
use crate::args::{ArrayArgs, Cli, ServeArgs};
use crate::exit::Failure;
use crate::output;
use crate::setup::{check_first, claim, environment};
use crate::signals::stop_on_signals;

/// Serves an array until it is stopped.
pub(crate) fn run(cli: &Cli, args: &ServeArgs) -> Result<(), Failure> {
    if args.array.drives.is_empty() && args.array.uuid.is_none() {
        return Err(Failure::usage(
            "an array is served by naming its members, or any one of them and --scan DIR, or its --uuid",
        ));
    }
    // An array that is attached to this machine is written back to by the very memory management
    // that this process relies on.
    shoal_attach::stay_out_of_reclaim();
    let protection = protection(args);
    let opening = opening(args)?;
    let array = from_anywhere(&args.array)?;
    let alerts = args.unattended.alerts.as_deref();
    let (name, places, server) = or_alert(environment(), alerts, &array.named(), || -> Result<_, Failure> {
        refuse_waited_for(&array, |attachment| suits(args, attachment))?;
        check_place(args.array.socket.is_some() && !args.nbd.is_empty())?;
        let wait = args.unattended.wait.map(Duration::from_secs);
        wait_for_members(environment(), wait, &array.named());
        refuse_other_places(args, &array)?;
        let claim = || {
            let checked = check(cli, args, &array, opening, &protection);
            let claimed = checked.and_then(|()| claim(cli, &array, &args.simulated, opening, Users::Clients));
            claimed.map_err(|failure| failure.document())
        };
        let mut host = when_free(environment(), wait, claim)?;
        let array = host.execute(speed(&args.speed))?.array;
        tell_holes(&array);
        let service = service(args, &mut host, &array, &protection)?;
        let places = service.addresses().join(" ");
        let server = Server::start(host, args.array.socket.as_deref(), Some(service), alerts, stop_on_signals)?;
        Ok((array.name, places, server))
    })?;
    if !args.launched {
        let socket = server.socket().display();
        output::warn(&format!("array {name} is served at {places}, administered at {socket}; Ctrl-C stops it"));
    }
    output::document(cli, &server.run()?, state_text)
}

/// How the array is opened.
fn opening(args: &ServeArgs) -> Result<Opening, Failure> {
    let deadline = Duration::from_secs(args.deadline);
    Ok(Opening {
        writable: !args.read_only,
        force: args.force,
        engine: args.engine.engine.into(),
        // A member that does not answer is taken out while clients have half of their patience
        // left.
        silence: SILENCE.min(deadline / 2),
        deadline,
        write_back: write_back(args.write_back, args.engine.engine)?,
        ..Opening::WRITABLE
    })
}

/// Refuses exports that the array has no room for, and places where nobody can listen, before it is
/// started without members.
fn check(
    cli: &Cli,
    args: &ServeArgs,
    array: &ArrayArgs,
    opening: Opening,
    protection: &Protection,
) -> Result<(), Failure> {
    // A socket is where it will be administered, and no array is reached by it yet.
    let unreached = ArrayArgs { socket: None, ..array.clone() };
    check_first(cli, &unreached, opening, None, |handle| {
        let document = handle.execute(speed(&args.speed))?.array;
        exports(args, &document, handle.content())?;
        listeners(args, &document, protection)?;
        check_keeping(array.socket.as_deref(), args.unattended.alerts.as_deref())
    })
    .map(drop)
}

/// What keeps strangers out.
fn protection(args: &ServeArgs) -> Protection {
    match (&args.tls_certificates, &args.tls_psk) {
        (Some(directory), _) => {
            let clients = match (args.tls_verify_peer, args.allow_strangers) {
                (true, _) => Clients::Certified,
                (false, true) => Clients::Anybody,
                (false, false) => Clients::Local,
            };
            Protection::Tls(TlsFiles::Certificates { directory: directory.clone(), clients })
        }
        (None, Some(file)) => Protection::Tls(TlsFiles::Keys(file.clone())),
        (None, None) if args.allow_plain_tcp => Protection::None,
        (None, None) => Protection::Local,
    }
}

/// Opens the sockets of an array that is at hand.
fn service(
    args: &ServeArgs,
    host: &mut Host,
    array: &ArrayDocument,
    protection: &Protection,
) -> Result<Service, Failure> {
    let volume = host.content();
    let exports = exports(args, array, volume)?.with_incarnation(&incarnation(array, 0));
    let buffers = SERVED_BUFFERS.start..volume.request_buffers();
    let exporter = Exporter::new(exports, buffers).map_err(Failure::failed)?;
    let exporter = exporter.with_deadline(Duration::from_secs(args.deadline));
    Service::start(exporter, listeners(args, array, protection)?).map_err(Failure::failed)
}

/// Sockets at the places where the array is to be served.
fn listeners(args: &ServeArgs, array: &ArrayDocument, protection: &Protection) -> Result<Vec<Listener>, Failure> {
    let mut addresses = args.nbd.clone();
    if addresses.is_empty() {
        addresses.push(Address::Unix(socket_for_clients(environment(), &array.uuid)?));
    }
    let listen = |address: &Address| Listener::open(&absolute(address)?, protection).map_err(listen_failure);
    addresses.iter().map(listen).collect()
}

/// Refuses an array that is to be reached at another one's usual places.
fn refuse_other_places(args: &ServeArgs, array: &ArrayArgs) -> Result<(), Failure> {
    refuse_other_place(array)?;
    args.nbd.iter().try_for_each(|address| match absolute(address)? {
        Address::Unix(path) => refuse_place(array, &path),
        _ => Ok(()),
    })
}

/// Whether the array will be served as an attachment needs it: where it waits, all of it, and for
/// writing unless it only reads. It takes the first export.
fn suits(args: &ServeArgs, attachment: &Attachment) -> Result<bool, Failure> {
    let first = args.export.first();
    let is_whole = first.is_none_or(|export| export.part.is_none());
    let is_read_only = args.read_only || first.is_some_and(|export| export.read_only);
    let is_enough = is_whole && (attachment.read_only || !is_read_only);
    Ok(is_enough && is_served_at(args, &attachment.array_uuid, &attachment.socket)?)
}

/// Whether the array is served at this socket.
fn is_served_at(args: &ServeArgs, array_uuid: &str, place: &Path) -> Result<bool, Failure> {
    if args.nbd.is_empty() {
        return Ok(socket_for_clients(environment(), array_uuid)? == place);
    }
    let is_it = |address: &Address| Ok(matches!(absolute(address)?, Address::Unix(path) if path == place));
    args.nbd.iter().map(is_it).try_fold(false, |any, it: Result<_, Failure>| Ok(any | it?))
}

/// What is to be served.
fn exports(args: &ServeArgs, array: &ArrayDocument, volume: &dyn Volume) -> Result<Exports, Failure> {
    let ArrayDocument { name, uuid, .. } = array;
    // What is left of an array that has lost too much is there to be read, and for nothing else.
    let is_read_only = args.read_only || array.health == HealthDocument::Failed;
    let size_bytes = volume.size_bytes();
    // By this a client that comes again knows that the content is still the same array's.
    let description = format!("array {uuid}, run by shoal");
    let whole = |name: &str, read_only| Export::whole(name, &description, size_bytes, read_only);
    let mut exports: Vec<Export> = Vec::new();
    for export in &args.export {
        let all = whole(&export.name, is_read_only || export.read_only);
        exports.push(match export.part {
            None => all,
            Some((offset, size_bytes)) => {
                // Two halves of an array must not be taken for each other.
                let description = format!("{size_bytes} bytes from byte {offset} of {description}");
                Export { offset, size_bytes, description, ..all }
            }
        });
    }
    if exports.is_empty() {
        exports.push(whole(if name.is_empty() { "shoal" } else { name }, is_read_only));
    }
    Exports::new(exports, size_bytes, volume.logical_block_bytes()).map_err(Failure::usage)
}

/// A path as it is understood from anywhere.
fn absolute(address: &Address) -> Result<Address, Failure> {
    match address {
        Address::Unix(path) => {
            let absolute = |path: &Path| std::path::absolute(path);
            Ok(Address::Unix(absolute(path).map_err(|error| Failure::Usage(format!("{address}: {error}")))?))
        }
        Address::Tcp { .. } => Ok(address.clone()),
    }
}

fn listen_failure(error: ListenError) -> Failure {
    if error.is_refusal() { Failure::Refused(error.to_string()) } else { Failure::failed(error) }
}
