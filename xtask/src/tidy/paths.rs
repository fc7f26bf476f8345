//! Where the paths of a crate's files lead: modules, what they define, and what they call by
//! another name.

use super::code::Code;
use proc_macro2::Ident;
use std::collections::{BTreeMap, BTreeSet};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Item, ItemUse, UseTree, Visibility};

/// Segments of a path, from the root of the crate.
type Path = Vec<String>;

/// One file's module.
pub(super) struct Module {
    file: String,
    place: Path,
    defined: BTreeSet<String>,
    /// What a name stands for that is defined elsewhere.
    bound: BTreeMap<String, Path>,
    /// Where everything comes from.
    globs: Vec<Path>,
    /// Paths that the code takes, as written.
    taken: BTreeSet<Path>,
}

impl Module {
    /// What there is to know of a file at `inner`, below the crate's sources.
    pub(super) fn of(file: &str, inner: &str, code: &Code) -> Self {
        let place = inner.trim_end_matches(".rs").split('/').map(str::to_owned);
        let mut place: Path = place.filter(|part| part != "mod").collect();
        if matches!(inner, "lib.rs" | "main.rs") {
            place.clear();
        }
        let (defined, bound, globs) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
        let mut module = Self { file: file.to_owned(), place, defined, bound, globs, taken: BTreeSet::new() };
        code.tree.items.iter().for_each(|item| module.define(item));
        let mut takes = Takes { module: &mut module, code, exports: Vec::new(), said: BTreeSet::new() };
        takes.visit_file(&code.tree);
        let Takes { exports, said, .. } = takes;
        // A name that is shown to others is used here only if the code says it, too.
        module.taken.extend(exports.into_iter().filter(|(name, _)| said.contains(name)).map(|(_, path)| path));
        module
    }

    fn define(&mut self, item: &Item) {
        let name: Option<&Ident> = match item {
            Item::Const(it) => Some(&it.ident),
            Item::Enum(it) => Some(&it.ident),
            Item::Fn(it) => Some(&it.sig.ident),
            Item::Macro(it) => it.ident.as_ref(),
            Item::Mod(it) => it.content.as_ref().map(|_| &it.ident),
            Item::Static(it) => Some(&it.ident),
            Item::Struct(it) => Some(&it.ident),
            Item::Trait(it) => Some(&it.ident),
            Item::Type(it) => Some(&it.ident),
            Item::Union(it) => Some(&it.ident),
            _ => None,
        };
        self.defined.extend(name.map(Ident::to_string));
    }
}

/// Collects what a file's code takes, tests aside.
struct Takes<'a> {
    module: &'a mut Module,
    code: &'a Code,
    /// What is shown to others: the name, and where it is from.
    exports: Vec<(String, Path)>,
    /// Names with which the code's paths begin, those of child modules aside.
    said: BTreeSet<String>,
}

impl Takes<'_> {
    fn take(&mut self, path: Path) {
        let is_child = |name: &String| {
            let children =
                self.code.tree.items.iter().filter_map(|item| if let Item::Mod(it) = item { Some(it) } else { None });
            children.map(|it| &it.ident).any(|ident| ident == name)
        };
        // A name alone may be that of a variable; whatever it stands for was brought in by a `use`.
        if path.len() == 1 {
            self.said.extend(path);
        } else {
            self.said.extend(path.first().filter(|name| !is_child(name)).cloned());
            self.module.taken.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for Takes<'_> {
    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if self.code.is_test_line(item.span().start().line) {
            return;
        }
        let is_private = matches!(item.vis, Visibility::Inherited);
        let mut leaves = Vec::new();
        flatten(&item.tree, Vec::new(), &mut leaves);
        for (name, path) in leaves {
            match name {
                None => self.module.globs.push(path.clone()),
                Some(name) => {
                    self.module.bound.insert(name.clone(), path.clone());
                    if !is_private {
                        self.exports.push((name, path));
                        continue;
                    }
                }
            }
            if is_private {
                self.module.taken.insert(path);
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if !self.code.is_test_line(path.span().start().line) {
            self.take(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    /// `pub(super)` uses nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if !self.code.is_test_line(call.span().start().line) {
            paths_in(&call.tokens.to_string()).into_iter().for_each(|path| self.take(path));
        }
        visit::visit_macro(self, call);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !self.code.is_test_line(item.span().start().line) {
            visit::visit_item_mod(self, item);
        }
    }
}

/// The paths among a macro's tokens.
fn paths_in(tokens: &str) -> Vec<Path> {
    let joined = tokens.replace(" :: ", "::");
    let words = joined.split(|letter: char| !letter.is_alphanumeric() && !"_:".contains(letter));
    words.filter(|word| !word.is_empty()).map(|word| word.split("::").map(str::to_owned).collect()).collect()
}

/// The leaves of a `use`: the name that each has here, none for all that there is, and its path.
fn flatten(tree: &UseTree, mut path: Path, leaves: &mut Vec<(Option<String>, Path)>) {
    match tree {
        UseTree::Path(it) => {
            path.push(it.ident.to_string());
            flatten(&it.tree, path, leaves);
        }
        UseTree::Group(it) => it.items.iter().for_each(|tree| flatten(tree, path.clone(), leaves)),
        UseTree::Glob(_) => leaves.push((None, path)),
        UseTree::Name(it) if it.ident == "self" => leaves.push((path.last().cloned(), path)),
        UseTree::Name(it) => {
            path.push(it.ident.to_string());
            leaves.push((path.last().cloned(), path));
        }
        UseTree::Rename(it) => {
            if it.ident != "self" {
                path.push(it.ident.to_string());
            }
            leaves.push((Some(it.rename.to_string()), path));
        }
    }
}

/// The modules of a crate, by their places.
pub(super) struct Modules(BTreeMap<Path, Module>);

/// Re-exports that are looked through on one path, at most.
const HOPS_MAX: usize = 16;

impl Modules {
    /// A crate of these files.
    pub(super) fn new(modules: Vec<Module>) -> Self {
        Self(modules.into_iter().map(|module| (module.place.clone(), module)).collect())
    }

    /// Which file uses which others.
    pub(super) fn arrows(&self) -> BTreeMap<String, BTreeSet<String>> {
        let of_module = |module: &Module| {
            let taken = module.taken.iter().filter_map(|path| self.resolve(&module.place, path, HOPS_MAX));
            let files = taken.filter(|file| *file != module.file).map(str::to_owned).collect();
            (module.file.clone(), files)
        };
        self.0.values().map(of_module).collect()
    }

    /// The file in which what a path names is defined; none if it is of another crate, or a local
    /// name.
    fn resolve(&self, place: &Path, path: &[String], hops: usize) -> Option<&str> {
        let (first, rest) = path.split_first()?;
        let here = self.0.get(place)?;
        match first.as_str() {
            "crate" => self.descend(&Path::new(), rest, hops),
            "self" => self.descend(place, rest, hops),
            "super" => self.descend_or_rise(place.split_last()?.1, rest, hops),
            _ if here.bound.contains_key(first) || self.child(place, first).is_some() => {
                self.descend(place, path, hops)
            }
            _ if here.defined.contains(first) => Some(&here.file),
            _ => None,
        }
    }

    fn descend_or_rise(&self, place: &[String], rest: &[String], hops: usize) -> Option<&str> {
        match rest.split_first() {
            Some((first, rest)) if first == "super" => self.descend_or_rise(place.split_last()?.1, rest, hops),
            _ => self.descend(&place.to_vec(), rest, hops),
        }
    }

    fn descend(&self, place: &Path, rest: &[String], hops: usize) -> Option<&str> {
        let here = self.0.get(place)?;
        let Some((first, rest)) = rest.split_first() else { return Some(&here.file) };
        if let Some(child) = self.child(place, first) {
            return self.descend(&child, rest, hops);
        }
        if here.defined.contains(first) || hops == 0 {
            return Some(&here.file);
        }
        if let Some(bound) = here.bound.get(first) {
            // What is bound to a name of its own is of another crate.
            let path: Path = bound.iter().chain(rest).cloned().collect();
            let is_itself = bound.first() == Some(first);
            return if is_itself { None } else { self.resolve(place, &path, hops - 1) };
        }
        let through = |glob: &Path| {
            let path: Path = glob.iter().cloned().chain([first.clone()]).collect();
            self.resolve(place, &path, hops - 1)
        };
        here.globs.iter().find_map(through).or(Some(&here.file))
    }

    fn child(&self, place: &Path, name: &str) -> Option<Path> {
        let child: Path = place.iter().cloned().chain([name.to_owned()]).collect();
        self.0.contains_key(&child).then_some(child)
    }
}
