//! All servers of a site: what runs is made to be what should run.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::server::{Protocol, Running, ServerError, start};
use crate::{Share, Site};

/// The first pause before a server that ended is started again; each further one is twice as long,
/// up to the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(64);

/// What became of a server.
#[derive(Debug)]
pub struct News {
    /// Which.
    pub protocol: Protocol,
    /// Why it does not run; none if it runs now.
    pub problem: Option<ServerError>,
}

/// Servers that run, and those that should.
#[derive(Debug, Default)]
pub struct Servers {
    places: BTreeMap<Protocol, Place>,
}

/// One server's.
#[derive(Debug, Default)]
struct Place {
    running: Option<Running>,
    /// What it was started for.
    wanted: Vec<Share>,
    site: Option<Site>,
    /// After a failure: not before this time, and how long the pause was.
    not_before: Duration,
    pause: Duration,
}

impl Servers {
    /// Makes the servers serve these shares at this site, and nothing else. Call it again after
    /// every change, and once in a while: what has ended is started again. `now` is the time since
    /// any moment.
    pub fn reconcile(&mut self, site: &Site, shares: &[Share], now: Duration) -> Vec<News> {
        let of = |protocol: Protocol| -> Vec<Share> {
            shares.iter().filter(|share| protocol.is_of(share)).cloned().collect()
        };
        let mut news = Vec::new();
        for protocol in Protocol::ALL {
            let place = self.places.entry(protocol).or_default();
            let problem = place.reconcile(protocol, site, of(protocol), now);
            news.extend(problem.map(|problem| News { protocol, problem: problem.err() }));
        }
        news
    }

    /// Which run.
    pub fn running(&self) -> Vec<Protocol> {
        let runs = self.places.iter().filter(|(_, place)| place.running.is_some());
        runs.map(|(&protocol, _)| protocol).collect()
    }

    /// The processes that were started.
    pub fn process_ids(&self) -> Vec<u32> {
        let running = self.places.values().filter_map(|place| place.running.as_ref());
        running.flat_map(Running::process_ids).collect()
    }

    /// Ends them all in order.
    pub fn stop(self) -> Vec<News> {
        let running = self.places.into_iter().filter_map(|(protocol, place)| Some((protocol, place.running?)));
        running.map(|(protocol, running)| News { protocol, problem: running.stop().err() }).collect()
    }
}

impl Place {
    /// `None` if there is nothing to tell.
    fn reconcile(
        &mut self,
        protocol: Protocol,
        site: &Site,
        shares: Vec<Share>,
        now: Duration,
    ) -> Option<Result<(), ServerError>> {
        let ended = self.running.as_mut().and_then(Running::ended);
        if ended.is_some() {
            self.running = None;
        }
        let is_new = shares != self.wanted || self.site.as_ref() != Some(site);
        let told = match ended {
            _ if shares.is_empty() => self.running.take().map(Running::stop),
            _ if is_new => Some(self.become_or_start(protocol, site, &shares)),
            Some(error) => Some(Err(error)),
            None if self.running.is_none() && now >= self.not_before => Some(self.start(protocol, site, &shares)),
            None => None,
        };
        self.wanted = shares;
        self.site = Some(site.clone());
        match told {
            Some(Err(_)) if self.running.is_none() => {
                self.pause = if is_new { FIRST_PAUSE } else { (self.pause * 2).clamp(FIRST_PAUSE, LONGEST_PAUSE) };
                self.not_before = now + self.pause;
            }
            _ => {}
        }
        told
    }

    /// Goes on with other shares if that can be, else ends and starts again.
    fn become_or_start(&mut self, protocol: Protocol, site: &Site, shares: &[Share]) -> Result<(), ServerError> {
        let at_the_same_site = self.site.as_ref() == Some(site);
        match self.running.as_mut().filter(|_| at_the_same_site).map(|running| running.change(shares)) {
            Some(Ok(true)) => Ok(()),
            Some(Ok(false)) | None => self.start(protocol, site, shares),
            Some(Err(error)) => {
                // It serves nobody knows what: it must not go on.
                self.running = None;
                Err(error)
            }
        }
    }

    fn start(&mut self, protocol: Protocol, site: &Site, shares: &[Share]) -> Result<(), ServerError> {
        // That the last one had to be killed is nothing against the next.
        let _ = self.running.take().map(Running::stop);
        self.running = Some(start(protocol, site, shares)?);
        Ok(())
    }
}
