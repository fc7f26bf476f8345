//! Lines for mdadm's configuration: which arrays the kernel is to run, under which names, and which
//! it is to leave alone.
//!
//! Every array has one owner. What says which is mdadm's own configuration, as mdadm is asked
//! first, by an initramfs and by udev: an `ARRAY` line gives an array to the kernel,
//! `ARRAY <ignore>` keeps the kernel's hands off it.

use shoal_md::Uuid;

/// An array as mdadm's configuration knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayName {
    /// By which its members are known.
    pub uuid: Uuid,
    /// As its superblocks say.
    pub name: String,
}

impl ArrayName {
    /// The device below `/dev/md` under which the kernel is to run it: its name, if that can be one
    /// of a file.
    pub fn device_name(&self) -> String {
        // What comes before a colon is the host that made it.
        let name = self.name.rsplit(':').next().unwrap_or_default();
        let can_be = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
        let is_fit = name.starts_with(|it: char| it.is_ascii_alphabetic()) && name.chars().all(can_be);
        if is_fit { name.to_owned() } else { format!("array-{}", &self.uuid.to_string()[..8]) }
    }
}

/// The lines that have the kernel run an array. Arrays come after those that they are made of.
pub fn run_by_kernel(arrays: &[ArrayName]) -> String {
    let line = |array: &ArrayName| format!("ARRAY /dev/md/{} UUID={}\n", array.device_name(), array.uuid);
    arrays.iter().map(line).collect()
}

/// The lines that keep the kernel's hands off.
pub fn left_alone(arrays: &[ArrayName]) -> String {
    arrays.iter().map(|array| format!("ARRAY <ignore> UUID={}\n", array.uuid)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> ArrayName {
        ArrayName { uuid: "01020304:05060708:090a0b0c:0d0e0f10".parse().unwrap(), name: name.to_owned() }
    }

    #[test]
    fn a_device_has_the_arrays_name_if_that_can_be_one() {
        for (name, device) in [
            ("pond", "pond"),
            ("host:pond", "pond"),
            ("a b", "array-01020304"),
            ("../etc", "array-01020304"),
            ("0", "array-01020304"),
            ("", "array-01020304"),
            ("pond\nARRAY", "array-01020304"),
        ] {
            assert_eq!(named(name).device_name(), device, "{name:?}");
        }
    }

    #[test]
    fn lines_are_mdadms() {
        let arrays = [named("pond")];
        assert_eq!(run_by_kernel(&arrays), "ARRAY /dev/md/pond UUID=01020304:05060708:090a0b0c:0d0e0f10\n");
        assert_eq!(left_alone(&arrays), "ARRAY <ignore> UUID=01020304:05060708:090a0b0c:0d0e0f10\n");
    }
}
