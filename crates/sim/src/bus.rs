//! What carries data between drives and the host.
//!
//! A **channel** is what one thing at a time can be on: a half-duplex bus, or one direction of a
//! full-duplex one. It serves **quanta**, a drive's pages, first come first served. A drive has at
//! most one quantum on a channel, so that is round robin over drives, as host controllers do it.
//!
//! ```text
//! t = ceil(bytes / packet) * t_packet / (1 - tax)
//! ```
//!
//! | kind | packet | time of a packet | duplex | source |
//! | --- | --- | --- | --- | --- |
//! | USB 2.0 | 512 B | 125 us / 13 | half | USB 2.0 specification, table 5-10: at most 13 bulk packets a microframe |
//! | USB 3, 5 Gbit/s | 1024 B | 1056 symbols of 2 ns | full | USB 3.0 specification, 7.2: a header packet of 20 bytes, and 12 bytes of framing and CRC around the payload; 8b/10b |
//! | PCI | 4 B | 30 ns | half | PCI 2.3: 32 bits at 33.33 MHz, an endless burst |
//! | ATA/133 | 2 B | 15 ns | half | ATA/ATAPI-7, Ultra DMA mode 6 |
//! | SATA 3, 6 Gbit/s | 8192 B | 8208 symbols of 10 bits | half | Serial ATA 2.6: a Data FIS of up to 8 KiB, with SOF, header, CRC and EOF; one FIS at a time |
//! | network | 1448 B | 1538 bytes of 8 bits | full | Ethernet and TCP/IP headers with time stamps, preamble and gap at an MTU of 1500 |
//! | direct | any | 0 | full | |
//!
//! **Polls.** At high speed a drive whose data phase is open, but that has nothing ready, answers
//! each token with NAK, and the host asks again. Linux lets its EHCI controller ask four times a
//! microframe (`EHCI_TUNE_RL_HS`). Each poll takes 2.25 us of the bus: this is *fitted*, on one
//! figure (six sticks on one bus read 45 MB/s). At least 0.6 us of it is on the wire (token,
//! handshake and turn-around, 36 byte times), the rest the controller's walk over its queue heads.
//! So each waiting drive takes `4 * 2.25 / 125` of the time. The controller goes round its queue
//! heads, so however many wait, whoever has data gets a turn; the tax ends at nine tenths. USB 3
//! does not poll: a drive tells when it is ready (ERDY).
//!
//! **Hubs.** A high-speed hub repeats what its upstream port carries, so drives behind it are on
//! the bus of the root. Any other bus that hangs on one (ATA channels on PCI) passes quanta on: a
//! quantum goes over one channel after the other, and the next may be on the first meanwhile. A
//! **network** passes whole requests on: a server has a request's data before it writes, and all
//! that was read before it answers.

use std::collections::VecDeque;

use crate::queue::Timers;
use crate::{Bus, BusKind};

/// Bits of time, without loss: so many nanoseconds in so many packets.
#[derive(Clone, Copy, Debug)]
struct Pace {
    packet_bytes: u32,
    ns: u64,
    packets: u64,
}

const MICROFRAME_NS: u64 = 125_000;
/// Four polls of 2.25 us.
const POLLS_NS: u64 = 4 * 2250;
/// What polls cannot take from those who have data.
const POLLS_NS_MAX: u64 = MICROFRAME_NS / 10 * 9;

impl BusKind {
    /// The largest request that Linux's driver for this kind of bus sends.
    pub const fn max_request_bytes(self) -> u32 {
        match self {
            // usb-storage: `.max_sectors = 240`, and 2048 for SuperSpeed.
            Self::Usb2 => 240 * 512,
            Self::Usb3 => 2048 * 512,
            // Linux's IDE driver: 256 sectors, which is all that 28-bit commands can name.
            Self::Ata133 => 256 * 512,
            Self::Pci | Self::Sata3 | Self::Sata6 | Self::GigabitNetwork | Self::FastNetwork | Self::Direct => u32::MAX,
        }
    }

    /// Whether it takes whole requests, stored and forwarded, instead of pages.
    pub(crate) const fn is_network(self) -> bool {
        matches!(self, Self::GigabitNetwork | Self::FastNetwork)
    }

    /// Whether reads and writes do not meet.
    pub(crate) const fn is_full_duplex(self) -> bool {
        matches!(self, Self::Usb3 | Self::GigabitNetwork | Self::FastNetwork | Self::Direct)
    }

    const fn pace(self) -> Pace {
        match self {
            Self::Usb2 => Pace { packet_bytes: 512, ns: MICROFRAME_NS, packets: 13 },
            Self::Usb3 => Pace { packet_bytes: 1024, ns: 2 * 1056, packets: 1 },
            Self::Pci => Pace { packet_bytes: 4, ns: 30, packets: 1 },
            Self::Ata133 => Pace { packet_bytes: 2, ns: 15, packets: 1 },
            Self::Sata3 => Pace { packet_bytes: 8192, ns: 8208 * 10, packets: 3 },
            Self::Sata6 => Pace { packet_bytes: 8192, ns: 8208 * 10, packets: 6 },
            Self::GigabitNetwork => Pace { packet_bytes: 1448, ns: 1538 * 8, packets: 1 },
            Self::FastNetwork => Pace { packet_bytes: 1448, ns: 1538 * 80, packets: 1 },
            Self::Direct => Pace { packet_bytes: u32::MAX, ns: 0, packets: 1 },
        }
    }

    const fn polls_ns(self) -> u64 {
        if matches!(self, Self::Usb2) { POLLS_NS } else { 0 }
    }
}

/// Whether drives behind `bus` are on the very bus that it hangs on.
pub(crate) fn is_hub(bus: &Bus, upstream: &Bus) -> bool {
    bus.kind == upstream.kind && matches!(bus.kind, BusKind::Usb2 | BusKind::Usb3)
}

/// What is on a channel, or waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) owner: Owner,
    pub(crate) bytes: u32,
}

/// Whom a load is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Owner {
    /// A drive's quantum, on so many channels before.
    Drive { drive: u32, stage: u32 },
    /// A whole request.
    Request(u32),
    /// A drive that was pulled meanwhile.
    Nobody,
}

/// A half-duplex bus, or one direction of a full-duplex one. It serves one quantum at a time, first
/// come first served.
#[derive(Debug)]
pub(crate) struct Channel {
    timer: usize,
    pace: Pace,
    polls_ns: u64,
    serving: Option<Load>,
    queue: VecDeque<Load>,
    /// Drives whose data phase is open.
    open_drives: u64,
    pub(crate) busy_ns: u64,
}

impl Channel {
    fn new(timer: usize, pace: Pace, polls_ns: u64) -> Self {
        Self { timer, pace, polls_ns, serving: None, queue: VecDeque::new(), open_drives: 0, busy_ns: 0 }
    }

    /// How long a load takes now.
    fn load_ns(&self, bytes: u32) -> u64 {
        let packets = u64::from(bytes.div_ceil(self.pace.packet_bytes));
        let (time, parts) = (packets * self.pace.ns, self.pace.packets);
        // Those with an open data phase who neither have data queued nor are being served.
        let waiting = (self.open_drives * u64::from(self.polls_ns > 0)).saturating_sub(self.queue.len() as u64 + 1);
        if waiting == 0 {
            return (time + parts / 2) / parts;
        }
        let left_ns = MICROFRAME_NS - (self.polls_ns * waiting).min(POLLS_NS_MAX);
        (time * MICROFRAME_NS + parts * left_ns / 2) / (parts * left_ns)
    }
}

/// All channels, and the timers of everything.
#[derive(Debug)]
pub(crate) struct Wiring {
    pub(crate) now_ns: u64,
    pub(crate) timers: Timers,
    channels: Vec<Channel>,
    first_timer: usize,
}

impl Wiring {
    /// No channel yet, and no timer but those below `first_timer`, which belong to others.
    pub(crate) fn new(first_timer: usize) -> Self {
        Self { now_ns: 0, timers: Timers::new(first_timer), channels: Vec::new(), first_timer }
    }

    /// A channel of a bus.
    pub(crate) fn add(&mut self, kind: BusKind) -> u32 {
        self.add_channel(kind.pace(), kind.polls_ns())
    }

    /// A channel on which everything takes the same time.
    pub(crate) fn add_step(&mut self, ns: u64) -> u32 {
        self.add_channel(Pace { packet_bytes: u32::MAX, ns, packets: 1 }, 0)
    }

    fn add_channel(&mut self, pace: Pace, polls_ns: u64) -> u32 {
        let number = self.channels.len();
        self.channels.push(Channel::new(self.first_timer + number, pace, polls_ns));
        self.timers = Timers::new(self.first_timer + self.channels.len()); // none is set before there are all
        u32::try_from(number).expect("buses are counted in tens")
    }

    /// When something that takes so long ends.
    pub(crate) fn after_ns(&self, duration_ns: u64) -> u64 {
        self.now_ns.saturating_add(duration_ns)
    }

    pub(crate) fn channel(&self, channel: u32) -> &Channel {
        &self.channels[channel as usize]
    }

    /// A drive's data phase begins: while it has nothing ready it is polled.
    pub(crate) fn open(&mut self, channel: u32) {
        self.channels[channel as usize].open_drives += 1;
    }

    /// A drive's data phase ends.
    pub(crate) fn close(&mut self, channel: u32) {
        self.channels[channel as usize].open_drives -= 1;
    }

    /// Puts a load into the queue for a channel.
    pub(crate) fn offer(&mut self, channel: u32, load: Load) {
        let it = &mut self.channels[channel as usize];
        if it.serving.is_none() {
            self.serve(channel, load);
        } else {
            it.queue.push_back(load);
        }
    }

    /// The load whose time on a channel is over. The channel stays as it is until
    /// [`Wiring::serve_next`].
    pub(crate) fn served(&self, channel: u32) -> Owner {
        self.channels[channel as usize].serving.expect("its timer was set").owner
    }

    /// The next load has its turn.
    pub(crate) fn serve_next(&mut self, channel: u32) {
        let it = &mut self.channels[channel as usize];
        match it.queue.pop_front() {
            Some(load) => self.serve(channel, load),
            None => {
                it.serving = None;
                self.timers.clear(it.timer);
            }
        }
    }

    fn serve(&mut self, channel: u32, load: Load) {
        let it = &mut self.channels[channel as usize];
        let duration_ns = it.load_ns(load.bytes);
        it.serving = Some(load);
        it.busy_ns += duration_ns;
        let due_ns = self.now_ns.saturating_add(duration_ns);
        self.timers.set(it.timer, due_ns);
    }

    /// Forgets loads. What is on a channel this very moment is carried to nobody.
    pub(crate) fn forget(&mut self, is_forgotten: impl Fn(Owner) -> bool) {
        for channel in &mut self.channels {
            channel.queue.retain(|load| !is_forgotten(load.owner));
            if let Some(load) = channel.serving.as_mut().filter(|load| is_forgotten(load.owner)) {
                load.owner = Owner::Nobody;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes_per_s(kind: BusKind, bytes: u32) -> u64 {
        u64::from(bytes) * 1_000_000_000 / Channel::new(0, kind.pace(), kind.polls_ns()).load_ns(bytes)
    }

    #[test]
    fn buses_carry_what_their_specifications_say() {
        assert_eq!(bytes_per_s(BusKind::Usb2, 13 * 512), 53_248_000);
        assert_eq!(bytes_per_s(BusKind::Usb3, 1 << 20) / 1_000_000, 484);
        assert_eq!(bytes_per_s(BusKind::Pci, 1 << 20) / 100_000, 1333);
        assert_eq!(bytes_per_s(BusKind::Ata133, 1 << 20) / 100_000, 1333);
        assert_eq!(bytes_per_s(BusKind::Sata3, 1 << 20) / 100_000, 2994);
        assert_eq!(bytes_per_s(BusKind::Sata6, 1 << 20) / 100_000, 5988);
        assert_eq!(bytes_per_s(BusKind::GigabitNetwork, 1448 << 10) / 100_000, 1176);
        assert_eq!(bytes_per_s(BusKind::FastNetwork, 1448 << 10) / 10_000, 1176);
    }

    #[test]
    fn each_drive_that_waits_takes_four_polls_a_microframe() {
        let mut channel = Channel::new(0, BusKind::Usb2.pace(), BusKind::Usb2.polls_ns());
        let alone = channel.load_ns(13 * 512);
        channel.open_drives = 3;
        assert_eq!(alone, MICROFRAME_NS);
        assert_eq!(channel.load_ns(13 * 512), 146_028); // 125 us / (1 - 2 * 0.072)
        channel.queue.push_back(Load { owner: Owner::Nobody, bytes: 1 });
        assert_eq!(channel.load_ns(13 * 512), 134_698);
        channel.open_drives = 100;
        assert_eq!(channel.load_ns(13 * 512), 10 * MICROFRAME_NS);
    }
}
