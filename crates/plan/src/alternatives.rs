//! What else could be bought: SSDs of the catalogue, and what was for sale when the studies were
//! written.

use shoal_sim::{Bus, Medium, catalogue};

use crate::cost::{ARRAYS_2004, Offer, SSDS_2008, cents_per_tb, price_ratio};
use crate::document::Alternative;
use crate::drives::Inventory;
use crate::planner::speed_sheet;
use crate::speed::{Scene, SpeedError};

/// Everything with a price, held against what the best array costs for its capacity.
pub(crate) fn alternatives(scene: &Scene<'_>, cents_of_array: Option<u64>) -> Result<Vec<Alternative>, SpeedError> {
    let ratio = |cents: u64| cents_of_array.and_then(|array| price_ratio(cents, array));
    let mut alternatives = Vec::new();
    for description in catalogue() {
        let model = &description.model;
        let is_usb = matches!(model.bus, shoal_sim::BusKind::Usb2 | shoal_sim::BusKind::Usb3);
        let Some(price) = description.facts.price.as_ref().filter(|_| !is_usb) else { continue };
        let Medium::Flash(_) = model.medium else { continue };
        let Some(cents) = cents_per_tb(price.usd_cents, model.size_bytes) else { continue };
        let buses = vec![Bus { kind: model.bus, upstream: None }];
        let inventory = Inventory { buses, drives: vec![crate::drives::PlannedDrive::new(description, 0, 1)] };
        let speeds = Scene { inventory: &inventory, host: scene.host.clone(), seed: scene.seed }.drive(0)?;
        alternatives.push(Alternative {
            name: model.title.clone(),
            size_bytes: model.size_bytes,
            cents_per_tb: cents,
            price_ratio: ratio(cents),
            speeds: Some(speed_sheet(&speeds)),
            source: format!("price of {}", price.date),
        });
    }
    let offered = |offer: &Offer| Alternative {
        name: offer.name.to_owned(),
        size_bytes: offer.size_bytes,
        cents_per_tb: offer.cents_per_tb,
        price_ratio: ratio(offer.cents_per_tb),
        speeds: None,
        source: offer.source.to_owned(),
    };
    alternatives.extend(SSDS_2008.iter().chain(&ARRAYS_2004).map(offered));
    Ok(alternatives)
}
