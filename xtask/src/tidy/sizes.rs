//! How long files and functions are.

use super::code::Code;
use super::sources::Source;
use std::fmt;
use syn::spanned::Spanned;
use syn::visit::Visit;

/// What is measured, in the order in which the records print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// A file of code, tests included.
    File,
    /// A function, from its signature to its closing brace.
    Function,
}

impl Kind {
    /// Longer than this needs a record.
    pub(super) fn aim_lines(self) -> usize {
        match self {
            Self::File => 400,
            Self::Function => 40,
        }
    }

    /// Longer than this is never accepted.
    pub(super) fn limit_lines(self) -> usize {
        match self {
            Self::File => 800,
            Self::Function => 70,
        }
    }

    /// The word that stands for the kind in records.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Function => "function",
        }
    }
}

/// What was measured: a file, or a function in one. Functions of one name in one file count as one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Subject {
    /// File or function.
    pub kind: Kind,
    /// The file's path.
    pub path: String,
    /// The function's name, after its type's; empty for a file.
    pub name: String,
}

impl fmt::Display for Subject {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {}", self.kind.word(), self.path)?;
        if self.kind == Kind::Function {
            write!(formatter, " {}", self.name)?;
        }
        Ok(())
    }
}

/// One length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Of what.
    pub subject: Subject,
    /// Where it begins.
    pub line: usize,
    /// How many lines it has.
    pub lines: usize,
}

/// The length of a file of code; nothing for text, data and generated files.
pub(super) fn of_file(file: &Source) -> Option<Size> {
    let is_code = [".rs", ".ts", ".css", ".sh", ".py"].iter().any(|ending| file.path.ends_with(ending));
    let subject = Subject { kind: Kind::File, path: file.path.clone(), name: String::new() };
    (is_code && !file.is_generated()).then(|| Size { subject, line: 1, lines: file.content.lines().count() })
}

/// The length of every function in a Rust file.
pub(super) fn of_functions(file: &Source, code: &Code) -> Vec<Size> {
    let mut functions = Functions { path: &file.path, owner: None, sizes: Vec::new() };
    functions.visit_file(&code.tree);
    functions.sizes
}

struct Functions<'file> {
    path: &'file str,
    owner: Option<String>,
    sizes: Vec<Size>,
}

impl Functions<'_> {
    fn measure(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.span().start().line;
        let last = block.span().end().line;
        let name = match &self.owner {
            Some(owner) => format!("{owner}::{}", signature.ident),
            None => signature.ident.to_string(),
        };
        let subject = Subject { kind: Kind::Function, path: self.path.to_owned(), name };
        self.sizes.push(Size { subject, line: first, lines: last + 1 - first });
    }

    fn inside(&mut self, owner: Option<String>, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.owner, owner);
        visit(self);
        self.owner = outer;
    }
}

impl<'tree> Visit<'tree> for Functions<'_> {
    fn visit_item_fn(&mut self, item: &'tree syn::ItemFn) {
        self.measure(&item.sig, &item.block);
        self.inside(None, |functions| syn::visit::visit_item_fn(functions, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'tree syn::ImplItemFn) {
        self.measure(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'tree syn::TraitItemFn) {
        if let Some(block) = &item.default {
            self.measure(&item.sig, block);
        }
        syn::visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_impl(&mut self, item: &'tree syn::ItemImpl) {
        let owner = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        self.inside(owner, |functions| syn::visit::visit_item_impl(functions, item));
    }

    fn visit_item_trait(&mut self, item: &'tree syn::ItemTrait) {
        let owner = Some(item.ident.to_string());
        self.inside(owner, |functions| syn::visit::visit_item_trait(functions, item));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::code;
    use super::super::sources::sample;

    #[test]
    fn functions_are_measured_from_signature_to_brace() {
        let content = "/// Doc.\n#[inline]\nfn free() {\n    1;\n}\nstruct A;\nimpl A {\n    fn own(&self) {}\n}\ntrait T {\n    fn given(&self) {\n    }\n    fn asked(&self);\n}\n";
        let file = sample("a.rs", content);
        let sizes = super::of_functions(&file, &code::parse(&file).unwrap());
        let sizes: Vec<_> = sizes.iter().map(|size| (size.subject.name.as_str(), size.line, size.lines)).collect();
        assert_eq!(sizes, [("free", 3, 3), ("A::own", 8, 1), ("T::given", 11, 2)]);
    }

    #[test]
    fn code_is_measured_and_generated_files_are_not() {
        let lines = |path: &str, content: &str| super::of_file(&sample(path, content)).map(|size| size.lines);
        assert_eq!(lines("a.rs", "a\nb\n"), Some(2));
        assert_eq!(lines("web/src/a.ts", "a\n"), Some(1));
        assert_eq!(lines("a.ts", "// Generated by schema.\na\n"), None);
        assert_eq!(lines("README.md", "a\n"), None);
    }
}
