//! The drives that a plan is made for, with what a planner needs to know of each and how sure that
//! is.

use shoal_sim::{Bus, BusKind, Description, DriveModel, Fleet, Medium, Status, Topology, Zone, find};

use crate::reliability::{FailureRate, find_rate};

/// Bits read for each that cannot be, if a drive says nothing: what makers of consumer disks
/// promise ("less than 1 in 10^14"); an assumption for sticks and cards, of which nothing is
/// published.
const BITS_PER_UNREADABLE: f64 = 1e14;

/// How a drive's description is known, from the best to the worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certainty {
    /// Its speeds were measured on a drive.
    Measured,
    /// They are printed by its maker or by others, or solved from such figures.
    Published,
    /// They are guesses, or were given for this plan.
    Assumed,
}

impl Certainty {
    /// How far a predicted speed may be off, as a fraction: for measured and published drives what
    /// the model is off where published arrays were predicted from single drives (two-bus reads +7
    /// %, two-bus writes -6 %, linear writes +10 %); more for published ones, as makers' figures
    /// differ from shop to shop; a guess for guesses.
    pub fn speed_error(self) -> f64 {
        match self {
            Self::Measured => 0.10,
            Self::Published => 0.15,
            Self::Assumed => 0.30,
        }
    }
}

/// What the speed of a drive's writes rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// Somebody knows it: see [`Certainty`].
    Known,
    /// Nobody has written to it: its reads stand in, which say nothing of what flash writes at.
    AsReads,
}

/// How often a drive fails.
#[derive(Clone, Debug, PartialEq)]
pub struct Failure {
    /// Chance to fail within a year.
    pub yearly: f64,
    /// Who says so.
    pub source: String,
}

impl From<FailureRate> for Failure {
    fn from(rate: FailureRate) -> Self {
        Self { yearly: rate.yearly, source: rate.source.to_owned() }
    }
}

/// What somebody says of drives that nobody has described; what is left out stays as it was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Capacity.
    pub size_bytes: Option<u64>,
    /// Sequential reads.
    pub read_bytes_per_s: Option<u64>,
    /// Sequential writes.
    pub write_bytes_per_s: Option<u64>,
    /// Price of one.
    pub price_cents: Option<u64>,
}

/// One drive.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedDrive {
    /// What people call it, with a number where there are several.
    pub name: String,
    /// How it behaves.
    pub model: DriveModel,
    /// What it hangs on: an index into [`Inventory::buses`].
    pub bus: usize,
    /// Its price and when that was.
    pub price: Option<(u64, String)>,
    /// Idle.
    pub idle_mw: Option<u32>,
    /// At work.
    pub active_mw: Option<u32>,
    /// Starting.
    pub start_mw: Option<u32>,
    /// Chance to fail within a year, and where that is from.
    pub failure: Failure,
    /// Chance that a bit which is read cannot be.
    pub unreadable_per_bit: f64,
    /// How its speeds are known.
    pub certainty: Certainty,
    /// Whether that goes for its writes.
    pub writes: Writes,
}

/// All drives and what they hang on.
#[derive(Clone, Debug, PartialEq)]
pub struct Inventory {
    /// The buses.
    pub buses: Vec<Bus>,
    /// The drives.
    pub drives: Vec<PlannedDrive>,
}

impl Inventory {
    /// The drives of a fleet.
    pub fn of_fleet(fleet: &Fleet) -> Self {
        let drives = fleet.descriptions.iter().zip(&fleet.topology.drives).enumerate();
        let drives = drives.map(|(number, (description, (_, bus)))| PlannedDrive::new(description, *bus, number + 1));
        Self { buses: fleet.topology.buses.clone(), drives: drives.collect() }
    }

    /// Adds another's drives, on buses of their own.
    pub fn extend(&mut self, other: Self) {
        let buses = self.buses.len();
        let shifted = other.buses.into_iter().map(|bus| Bus { upstream: bus.upstream.map(|it| it + buses), ..bus });
        self.buses.extend(shifted);
        let drives = other.drives.into_iter().map(|drive| PlannedDrive { bus: drive.bus + buses, ..drive });
        self.drives.extend(drives);
        for (number, drive) in self.drives.iter_mut().enumerate() {
            drive.name = format!("{} #{}", drive.model.name, number + 1);
        }
    }

    /// Drives and buses as the simulation takes them: these drives, on these buses.
    pub fn topology(&self, drives: &[(usize, usize)]) -> Topology {
        // What a drive writes faster until it has had enough is not what it can go on with.
        let lasting = |drive: usize| {
            let mut model = self.drives[drive].model.clone();
            if let Medium::Flash(flash) = &mut model.medium {
                flash.fast_area = None;
            }
            model
        };
        Topology {
            buses: self.buses.clone(),
            drives: drives.iter().map(|&(drive, bus)| (lasting(drive), bus)).collect(),
        }
    }

    /// What a bus is called: its kind, and a number where there are several of one kind.
    pub fn bus_name(&self, bus: usize) -> String {
        let kind = self.buses[bus].kind;
        let word = kind_name(kind);
        let of_kind: Vec<usize> = (0..self.buses.len()).filter(|&it| self.buses[it].kind == kind).collect();
        match of_kind.as_slice() {
            [_] => word.to_owned(),
            several => format!("{word} #{}", several.iter().position(|&it| it == bus).map_or(0, |at| at + 1)),
        }
    }

    /// Everything that the drives hold.
    pub fn raw_bytes(&self) -> u64 {
        self.drives.iter().map(|drive| drive.model.size_bytes).sum()
    }
}

impl PlannedDrive {
    pub(crate) fn new(description: &Description, bus: usize, number: usize) -> Self {
        let (facts, model) = (&description.facts, &description.model);
        let said_by =
            description.origins.get("facts.yearly_failures").map_or("the drive's description", |it| &it.source);
        let failure = facts.yearly_failure_ppm.map_or_else(
            || default_rate(model).into(),
            |ppm| Failure { yearly: f64::from(ppm) / 1e6, source: said_by.to_owned() },
        );
        let bits = facts.bits_per_unreadable_sector.map_or(BITS_PER_UNREADABLE, |bits| bits.max(1) as f64);
        Self {
            name: format!("{} #{number}", model.name),
            model: model.clone(),
            bus,
            price: facts.price.as_ref().filter(|_| is_as_sold(model)).map(|it| (it.usd_cents, it.date.clone())),
            idle_mw: facts.power.idle_mw,
            active_mw: facts.power.active_mw,
            start_mw: facts.power.start_mw,
            failure,
            unreadable_per_bit: 1.0 / bits,
            certainty: certainty(description),
            writes: writes(description),
        }
    }

    /// The same drive, but for what somebody says of it.
    #[must_use]
    pub fn with(mut self, figures: &Figures) -> Self {
        self.model.size_bytes = figures.size_bytes.unwrap_or(self.model.size_bytes);
        if let Some(price_cents) = figures.price_cents {
            self.price = Some((price_cents, "as given".to_owned()));
        }
        match &mut self.model.medium {
            Medium::Flash(flash) => {
                flash.bytes_per_s.read = figures.read_bytes_per_s.unwrap_or(flash.bytes_per_s.read);
                flash.bytes_per_s.write = figures.write_bytes_per_s.unwrap_or(flash.bytes_per_s.write);
            }
            Medium::Disk(disk) => {
                disk.zones.retain(|zone| zone.start_byte < self.model.size_bytes);
                if let Some(bytes_per_s) = figures.read_bytes_per_s.or(figures.write_bytes_per_s) {
                    disk.zones = vec![Zone { start_byte: 0, bytes_per_s }];
                }
            }
        }
        if figures.write_bytes_per_s.is_some() {
            self.writes = Writes::Known;
        }
        if figures.read_bytes_per_s.or(figures.write_bytes_per_s).is_some() {
            self.certainty = Certainty::Assumed;
        }
        self
    }
}

/// Whether a drive has the size that the catalogue has a price for.
fn is_as_sold(model: &DriveModel) -> bool {
    find(&model.name).ok().is_none_or(|sold| sold.model.size_bytes == model.size_bytes)
}

/// What drives of its kind do, if it says nothing itself.
fn default_rate(model: &DriveModel) -> FailureRate {
    let is_usb = matches!(model.bus, BusKind::Usb2 | BusKind::Usb3);
    let name = match model.medium {
        Medium::Disk(_) => "backblaze-disks",
        Medium::Flash(_) if is_usb => "sticks",
        Medium::Flash(_) => "backblaze-ssds",
    };
    find_rate(name).expect("the presets have these three")
}

/// A description is as well known as the rates of its medium are.
fn certainty(description: &Description) -> Certainty {
    let is_rate =
        |path: &str| path.ends_with("read_rate") || path.ends_with("flash.write_rate") || path.ends_with(".rate");
    let of_rates = description.origins.iter().filter(|(path, _)| is_rate(path));
    let each = of_rates.map(|(_, origin)| match origin.status {
        Status::Measured => Certainty::Measured,
        Status::Published | Status::Solved | Status::Fitted => Certainty::Published,
        Status::Assumed | Status::NotMeasured => Certainty::Assumed,
    });
    each.max().unwrap_or(Certainty::Assumed)
}

/// A disk writes at the speed of its platters, as it reads.
fn writes(description: &Description) -> Writes {
    match description.origins.get("flash.write_rate").map(|origin| origin.status) {
        Some(Status::NotMeasured) => Writes::AsReads,
        _ => Writes::Known,
    }
}

/// A bus as people call it.
pub fn kind_name(kind: BusKind) -> &'static str {
    match kind {
        BusKind::Usb2 => "USB 2.0",
        BusKind::Usb3 => "USB 3",
        BusKind::Pci => "PCI",
        BusKind::Ata133 => "ATA/133",
        BusKind::Sata3 => "SATA 3 Gbit/s",
        BusKind::Sata6 => "SATA 6 Gbit/s",
        BusKind::GigabitNetwork => "gigabit network",
        BusKind::FastNetwork => "100 Mbit/s network",
        BusKind::Direct => "direct",
    }
}
