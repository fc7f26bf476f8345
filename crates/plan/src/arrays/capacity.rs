//! What an array holds: md's own placement of superblocks and data, and the engine's own geometry
//! over it.

use shoal_array::{Geometry, Level, Role, Shape};
use shoal_md::{
    ConsistencyPolicy, CreateError, CreateRequest, MinorVersion, NewMember, Timestamp, Uuid, plan_creation,
};
use shoal_volume::ArrayLevel;

/// What an array holds, and what it takes of each member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Bytes of content.
    pub usable_bytes: u64,
    /// Bytes in use on each member, in the order of roles.
    pub used_bytes: Vec<u64>,
}

/// What an array of members of these sizes holds.
pub fn capacity(level: ArrayLevel, sizes: &[u64], chunk_bytes: u32) -> Result<Capacity, CreateError> {
    match level {
        ArrayLevel::Plain(level) => {
            let geometry = geometry(level, sizes, chunk_bytes)?;
            Ok(Capacity { usable_bytes: geometry.capacity_bytes(), used_bytes: used(&geometry) })
        }
        ArrayLevel::Nested { outer, inner, groups } => {
            let mut inner_sizes = Vec::new();
            let mut used_bytes = Vec::new();
            for group in sizes.chunks((sizes.len() / groups.max(1)).max(1)) {
                let geometry = geometry(inner, group, chunk_bytes)?;
                inner_sizes.push(geometry.capacity_bytes());
                used_bytes.extend(used(&geometry));
            }
            let usable_bytes = geometry(outer, &inner_sizes, chunk_bytes)?.capacity_bytes();
            Ok(Capacity { usable_bytes, used_bytes })
        }
    }
}

fn used(geometry: &Geometry) -> Vec<u64> {
    (0..).map(Role).take(geometry.member_count()).map(|role| geometry.used_bytes(role)).collect()
}

fn geometry(level: Level, sizes: &[u64], chunk_bytes: u32) -> Result<Geometry, CreateError> {
    // Names and identities have no say in where data are placed.
    let member = |(number, &size_bytes): (usize, &u64)| NewMember {
        drive: format!("drive {}", number + 1),
        size_bytes,
        uuid: Uuid([0; 16]),
    };
    let creation = plan_creation(&CreateRequest {
        minor: MinorVersion::Start4K,
        level,
        chunk_bytes: (!matches!(level, Level::Raid1 | Level::Linear)).then_some(chunk_bytes),
        members: sizes.iter().enumerate().map(member).collect(),
        spares: Vec::new(),
        name: "plan".to_owned(),
        homehost: None,
        array_uuid: Uuid([0; 16]),
        creation_time: Timestamp::from_seconds(0),
        clean: true,
        consistency: ConsistencyPolicy::Resync,
    })?;
    checked(level, creation.shape)
}

fn checked(level: Level, shape: Shape) -> Result<Geometry, CreateError> {
    Geometry::new(shape).map_err(|cause| CreateError::Shape { level, cause })
}
