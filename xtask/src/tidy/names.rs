//! Names: one word per idea, written out.

use super::code::Code;
use super::finding::Finding;
use super::sources::Source;
use proc_macro2::Ident;
use syn::visit::Visit;

/// Words that are cut short, and what they stand for.
const ABBREVIATIONS: &[(&str, &str)] = &[
    ("blk", "block"),
    ("buf", "buffer"),
    ("cfg", "config"),
    ("cmd", "command"),
    ("cnt", "count"),
    ("ctx", "context"),
    ("elem", "element"),
    ("err", "error"),
    ("hdr", "header"),
    ("idx", "index"),
    ("mgr", "what it does"),
    ("msg", "message"),
    ("num", "count"),
    ("opts", "options"),
    ("pos", "position"),
    ("req", "request"),
    ("resp", "answer"),
    ("ret", "what is returned"),
    ("sb", "superblock"),
    ("sz", "size"),
    ("tmp", "what it holds"),
    ("val", "value"),
];

/// Names that say nothing about what is inside.
const DRAWERS: &[&str] = &["common", "helper", "helpers", "misc", "types", "util", "utils"];

/// Folders and files that are named for being a drawer.
pub(super) fn check_path(file: &Source) -> Vec<Finding> {
    if !file.is_rust() && !file.path.ends_with("Cargo.toml") && !file.path.ends_with(".ts") {
        return Vec::new();
    }
    let parts = file.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
    parts
        .filter(|part| DRAWERS.contains(part))
        .map(|part| Finding {
            path: file.path.clone(),
            line: 0,
            what: format!("a place called `{part}`"),
            why: "a drawer collects what belongs elsewhere".to_owned(),
            mend: "name it for the one idea inside, or move that to the crate that owns the idea".to_owned(),
        })
        .collect()
}

/// Abbreviations and `get_` in the names that the file defines.
pub(super) fn check_definitions(file: &Source, code: &Code) -> Vec<Finding> {
    let mut definitions = Definitions { path: &file.path, findings: Vec::new() };
    definitions.visit_file(&code.tree);
    definitions.findings
}

struct Definitions<'file> {
    path: &'file str,
    findings: Vec<Finding>,
}

impl Definitions<'_> {
    fn check(&mut self, name: &Ident) {
        for word in words(&name.to_string()) {
            if let Some((_, full)) = ABBREVIATIONS.iter().find(|(short, _)| *short == word) {
                self.report(name, format!("`{name}` has the abbreviation `{word}`"), format!("write `{full}`"));
            }
        }
    }

    fn check_function(&mut self, name: &Ident) {
        self.check(name);
        if name.to_string().starts_with("get_") {
            let noun = name.to_string().trim_start_matches("get_").to_owned();
            self.report(name, format!("`{name}` begins with `get_`"), format!("call it `{noun}`"));
        }
    }

    fn report(&mut self, name: &Ident, what: String, mend: String) {
        self.findings.push(Finding {
            path: self.path.to_owned(),
            line: name.span().start().line,
            what,
            why: "names are read far more often than written".to_owned(),
            mend,
        });
    }
}

impl<'tree> Visit<'tree> for Definitions<'_> {
    fn visit_item_fn(&mut self, item: &'tree syn::ItemFn) {
        self.check_function(&item.sig.ident);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'tree syn::ItemImpl) {
        // The methods of a trait are named where the trait is.
        if item.trait_.is_none() {
            for member in &item.items {
                if let syn::ImplItem::Fn(function) = member {
                    self.check_function(&function.sig.ident);
                }
            }
        }
        syn::visit::visit_item_impl(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'tree syn::TraitItemFn) {
        self.check_function(&item.sig.ident);
        syn::visit::visit_trait_item_fn(self, item);
    }

    fn visit_pat_ident(&mut self, pattern: &'tree syn::PatIdent) {
        self.check(&pattern.ident);
        syn::visit::visit_pat_ident(self, pattern);
    }

    fn visit_field(&mut self, field: &'tree syn::Field) {
        if let Some(name) = &field.ident {
            self.check(name);
        }
        syn::visit::visit_field(self, field);
    }

    fn visit_variant(&mut self, variant: &'tree syn::Variant) {
        self.check(&variant.ident);
        syn::visit::visit_variant(self, variant);
    }

    fn visit_item(&mut self, item: &'tree syn::Item) {
        match item {
            syn::Item::Const(item) => self.check(&item.ident),
            syn::Item::Enum(item) => self.check(&item.ident),
            syn::Item::Mod(item) => self.check(&item.ident),
            syn::Item::Static(item) => self.check(&item.ident),
            syn::Item::Struct(item) => self.check(&item.ident),
            syn::Item::Trait(item) => self.check(&item.ident),
            syn::Item::Type(item) => self.check(&item.ident),
            _ => {}
        }
        syn::visit::visit_item(self, item);
    }
}

/// The words of a name in snake_case, SCREAMING_CASE or CamelCase, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut previous_is_lower = false;
    for letter in name.chars() {
        if letter == '_' || (letter.is_uppercase() && previous_is_lower) {
            words.push(String::new());
        }
        if letter != '_' {
            words.last_mut().expect("one word is there from the start").extend(letter.to_lowercase());
        }
        previous_is_lower = letter.is_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::code;
    use super::super::sources::sample;

    fn found(content: &str) -> Vec<String> {
        let file = sample("crates/array/src/a.rs", content);
        let code = code::parse(&file).unwrap();
        super::check_definitions(&file, &code).into_iter().map(|finding| finding.what).collect()
    }

    #[test]
    fn abbreviations_are_found_wherever_a_name_is_defined() {
        let short = |name: &str, word: &str| vec![format!("`{name}` has the abbreviation `{word}`")];
        assert_eq!(found("fn f() { let idx = 0; }"), short("idx", "idx"));
        assert_eq!(found("fn f(read_buf: u8) {}"), short("read_buf", "buf"));
        assert_eq!(found("struct A { num_members: u8 }"), short("num_members", "num"));
        assert_eq!(found("struct ReqQueue;"), short("ReqQueue", "req"));
        assert_eq!(found("enum A { BadSb }"), short("BadSb", "sb"));
        assert_eq!(found("const MAX_CNT: u8 = 0;"), short("MAX_CNT", "cnt"));
        assert_eq!(found("mod msg {}"), short("msg", "msg"));
        assert_eq!(found("fn fill_tmp() {}"), short("fill_tmp", "tmp"));
        assert_eq!(found("struct A; impl A { fn hdr(&self) {} }"), short("hdr", "hdr"));
        assert_eq!(found("trait A { fn ctx(&self); }"), short("ctx", "ctx"));
    }

    #[test]
    fn getters_are_nouns() {
        assert_eq!(found("struct A; impl A { fn get_size(&self) {} }"), ["`get_size` begins with `get_`"]);
        assert!(found("impl Other for A { fn get_size(&self) {} }").is_empty());
    }

    #[test]
    fn words_that_are_used_but_not_defined_here_are_left_alone() {
        assert!(found("fn f() { other.buf = x::IDX; let number = 1; let buffer = 2; }").is_empty());
    }

    #[test]
    fn drawers_are_found_in_paths() {
        let what = |path: &str| super::check_path(&sample(path, "")).len();
        assert_eq!(what("crates/util/Cargo.toml"), 1);
        assert_eq!(what("crates/array/src/types.rs"), 1);
        assert_eq!(what("crates/array/tests/common/mod.rs"), 1);
        assert_eq!(what("crates/array/src/units.rs"), 0);
    }
}
