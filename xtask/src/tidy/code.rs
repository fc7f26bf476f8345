//! A Rust file, parsed once for all rules: its flat token sequence, its syntax tree, and which
//! lines are test code.

use super::finding::Finding;
use super::sources::Source;
use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use std::ops::RangeInclusive;
use syn::spanned::Spanned;
use syn::visit::Visit;

/// One token and where it stands. Delimiters are tokens of their own; `::` is one token; comments
/// are none.
pub(super) struct Token {
    /// As written.
    pub text: String,
    /// Line, from 1.
    pub line: usize,
}

/// A parsed file.
pub(super) struct Code {
    /// All tokens in order.
    pub tokens: Vec<Token>,
    /// The syntax tree.
    pub tree: syn::File,
    test_lines: Vec<RangeInclusive<usize>>,
}

impl Code {
    /// Whether a line belongs to an item that exists in tests only.
    pub(super) fn is_test_line(&self, line: usize) -> bool {
        self.test_lines.iter().any(|range| range.contains(&line))
    }
}

/// Parses a file, or reports that it is not Rust.
pub(super) fn parse(file: &Source) -> Result<Code, Finding> {
    let not_rust = |error: String, line: usize| Finding {
        path: file.path.clone(),
        line,
        what: format!("does not parse: {error}"),
        why: "every other rule needs a syntax tree".to_owned(),
        mend: "make it compile".to_owned(),
    };
    let stream: TokenStream = file
        .content
        .parse()
        .map_err(|error: proc_macro2::LexError| not_rust(error.to_string(), error.span().start().line))?;
    let mut tokens = Vec::new();
    flatten(stream.clone(), &mut tokens);
    let tree: syn::File =
        syn::parse2(stream).map_err(|error| not_rust(error.to_string(), error.span().start().line))?;
    let mut finder = TestFinder { ranges: Vec::new() };
    finder.visit_file(&tree);
    Ok(Code { tokens, tree, test_lines: finder.ranges })
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let mut half_of_path_separator = false;
    for tree in stream {
        let line = tree.span().start().line;
        match tree {
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ("(", ")"),
                    Delimiter::Brace => ("{", "}"),
                    Delimiter::Bracket => ("[", "]"),
                    Delimiter::None => ("", ""),
                };
                tokens.push(Token { text: open.to_owned(), line: group.span_open().start().line });
                flatten(group.stream(), tokens);
                tokens.push(Token { text: close.to_owned(), line: group.span_close().start().line });
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' && half_of_path_separator => {
                half_of_path_separator = false;
                tokens.push(Token { text: "::".to_owned(), line });
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' && punct.spacing() == Spacing::Joint => {
                half_of_path_separator = true;
            }
            other => tokens.push(Token { text: other.to_string(), line }),
        }
    }
}

/// Collects the line ranges of items marked `#[cfg(test)]`.
struct TestFinder {
    ranges: Vec<RangeInclusive<usize>>,
}

impl<'tree> Visit<'tree> for TestFinder {
    fn visit_item(&mut self, item: &'tree syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Struct(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => return syn::visit::visit_item(self, item),
        };
        if attributes.iter().any(is_test_marker) {
            self.ranges.push(item.span().start().line..=item.span().end().line);
        }
        syn::visit::visit_item(self, item);
    }
}

fn is_test_marker(attribute: &syn::Attribute) -> bool {
    if attribute.path().is_ident("test") {
        return true;
    }
    attribute.path().is_ident("cfg") && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::sources::sample;
    use super::parse;

    #[test]
    fn tokens_skip_comments_and_join_path_separators() {
        let code = parse(&sample("a.rs", "// no\nfn f() { a::b(\"x\"); }")).unwrap();
        let words: Vec<&str> = code.tokens.iter().map(|token| token.text.as_str()).collect();
        assert_eq!(words, ["fn", "f", "(", ")", "{", "a", "::", "b", "(", "\"x\"", ")", ";", "}"]);
        assert_eq!(code.tokens[0].line, 2);
    }

    #[test]
    fn test_items_are_known_by_line() {
        let code =
            parse(&sample("a.rs", "fn f() {}\n#[cfg(test)]\nmod tests {\n    fn g() {}\n}\nfn h() {}\n")).unwrap();
        let tests: Vec<usize> = (1..=6).filter(|line| code.is_test_line(*line)).collect();
        assert_eq!(tests, [2, 3, 4, 5]);
    }

    #[test]
    fn what_is_not_rust_is_a_finding_with_its_line() {
        let finding = parse(&sample("a.rs", "fn f() {}\nfn (\n")).err().unwrap();
        assert_eq!(finding.path, "a.rs");
        assert!(finding.line >= 2, "{finding}");
    }
}
