//! Bounds on files from untrusted authors: size, depth of nesting, and length of numbers. Reading a tree is recursive, and a
//! deep one would overflow the stack.

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ops::Range;
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

/// Most bytes of a scenario, of a study, and of a definition of a paper: 16 MiB.
pub const MAX_TEXT_BYTES: u64 = 16 << 20;
/// Greatest depth of nested tables and lists. Files read here have five or six levels.
pub const MAX_DEPTH: usize = 64;
/// Largest number of characters of a number. The longest that a program writes have 25; keys in digits have 20.
pub const MAX_DIGITS: usize = 400;

/// A violated bound, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beyond {
    /// Offset in the text.
    pub at: usize,
    /// Dotted path of the field, as far as it is known.
    pub field: String,
    /// Description of the violation.
    pub what: String,
    /// What would be valid.
    pub valid: String,
}

impl Beyond {
    fn depth(at: usize, field: String, depth: usize) -> Self {
        let valid = format!("at most {MAX_DEPTH} tables and lists within each other");
        Self { at, field, what: format!("is nested {depth} deep"), valid }
    }

    fn digits(at: usize, field: String, digits: usize) -> Self {
        let valid = format!("at most {MAX_DIGITS} characters");
        Self { at, field, what: format!("is a number of {digits} characters"), valid }
    }
}

/// Checks the bounds of a TOML text, even of one with other errors.
///
/// # Errors
/// The first place that does not; the depth is that of the deepest.
pub fn check_toml(text: &str) -> Result<(), Beyond> {
    let mut walk = Walk::of(text);
    let (mut deep, mut deepest) = (None, 0);
    while let Some((kind, span)) = walk.step() {
        if kind == TokenKind::Atom
            && !walk.in_key
            && span.len() > MAX_DIGITS
            && is_number(&text[span.clone()])
        {
            return Err(Beyond::digits(span.start, walk.field(), span.len()));
        }
        deepest = deepest.max(walk.depth());
        if deepest > MAX_DEPTH && deep.is_none() {
            deep = Some((span.start, walk.field()));
        }
    }
    deep.map_or(Ok(()), |(at, field)| Err(Beyond::depth(at, field, deepest)))
}

/// Dotted path of the field at an offset of a TOML text; empty where there is none.
pub fn toml_field(text: &str, at: usize) -> String {
    let mut walk = Walk::of(text);
    while let Some((_, span)) = walk.step() {
        if span.end > at {
            break;
        }
    }
    walk.field()
}

fn is_number(text: &str) -> bool {
    text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit())
}

/// A walk through the tokens of a TOML text that keeps track of depth and field.
struct Walk<'a> {
    text: &'a str,
    tokens: toml_parser::lexer::Lexer<'a>,
    /// Depth of each bracket that is open, and whether it is that of a table.
    open: Vec<(usize, bool)>,
    /// The header that the lines are under, and its length in names.
    header: Range<usize>,
    headers: usize,
    /// The key at the beginning of the line, and the names of the one that is being read but for the first.
    key: Range<usize>,
    dots: usize,
    in_key: bool,
    in_header: bool,
    at_start: bool,
}

impl<'a> Walk<'a> {
    fn of(text: &'a str) -> Self {
        let tokens = Source::new(text).lex();
        Self {
            text,
            tokens,
            open: Vec::new(),
            header: 0..0,
            headers: 0,
            key: 0..0,
            dots: 0,
            in_key: true,
            in_header: false,
            at_start: true,
        }
    }

    /// Depth of the last token.
    fn depth(&self) -> usize {
        self.open.last().map_or(self.headers, |(depth, _)| *depth) + self.dots
    }

    fn field(&self) -> String {
        let names = [&self.header, &self.key].map(|part| self.text[part.clone()].trim());
        let names: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
        let path = names.join(".");
        let end = path.char_indices().nth(80).map_or(path.len(), |(end, _)| end);
        path[..end].to_owned()
    }

    fn step(&mut self) -> Option<(TokenKind, Range<usize>)> {
        let token = self.tokens.next()?;
        let (kind, span) = (token.kind(), token.span().start()..token.span().end());
        match kind {
            TokenKind::Newline if self.open.is_empty() => self.begin_line(span.end),
            TokenKind::Whitespace | TokenKind::Comment | TokenKind::Newline | TokenKind::Eof => {
                return Some((kind, span));
            }
            TokenKind::LeftSquareBracket if self.in_header || (self.at_start && self.open.is_empty()) => {
                (self.in_header, self.headers) = (true, 1);
                self.header = span.end..span.end;
            }
            TokenKind::RightSquareBracket if self.in_header => {}
            TokenKind::Dot if self.in_header => self.headers += 1,
            TokenKind::Dot if self.in_key => self.dots += 1,
            TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => {
                let is_table = kind == TokenKind::LeftCurlyBracket;
                self.open.push((self.depth() + 1, is_table));
                (self.dots, self.in_key) = (0, is_table);
            }
            TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => {
                self.open.pop();
                (self.dots, self.in_key) = (0, false);
            }
            TokenKind::Comma => {
                (self.dots, self.in_key) = (0, self.open.last().is_some_and(|(_, is_table)| *is_table));
            }
            TokenKind::Equals => self.in_key = false,
            _ if self.in_header => self.header.end = span.end,
            _ => {}
        }
        if self.open.is_empty() && self.in_key && !self.in_header && kind != TokenKind::Newline {
            self.key.end = span.end;
        }
        self.at_start = self.at_start && kind == TokenKind::Newline;
        Some((kind, span))
    }

    fn begin_line(&mut self, at: usize) {
        if self.in_header {
            self.in_header = false;
        }
        (self.key, self.dots, self.in_key) = (at..at, 0, true);
        self.at_start = true;
    }
}

/// Reasons to refuse a JSON text.
///
/// # Errors
/// What passes a bound, or is no JSON, with the place.
pub fn check_json(text: &str) -> Result<(), String> {
    let path = Path::default();
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = Place(&path).deserialize(&mut reader).and_then(|()| reader.end());
    read.map_err(|error| match path.shown() {
        field if path.is_too_deep.get() => {
            format!("{field} is nested {} deep, above {MAX_DEPTH}", json_depth(text))
        }
        field if field.is_empty() => error.to_string(),
        field => format!("{field}: {error}"),
    })
}

/// Depth of nested tables and lists.
fn json_depth(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = in_text,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// A step from a table or list to what is in it.
enum Step {
    Name(String),
    Index(usize),
}

/// The steps from the root to the value that is being read; left as it is by an error.
#[derive(Default)]
struct Path {
    steps: RefCell<Vec<Step>>,
    is_too_deep: Cell<bool>,
}

impl Path {
    fn shown(&self) -> String {
        let steps = self.steps.borrow();
        let few = steps.iter().take(8).map(|step| match step {
            Step::Name(name) => name.chars().take(80).collect(),
            Step::Index(index) => index.to_string(),
        });
        few.collect::<Vec<_>>().join(".")
    }
}

/// Any value, which is traversed and discarded.
#[derive(Clone, Copy)]
struct Place<'a>(&'a Path);

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut count = 0;
        while self.step::<A::Error>(Step::Index(count), || items.next_element_seed(self))? {
            count += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while let Some(name) = entries.next_key::<String>()? {
            self.step::<A::Error>(Step::Name(name), || entries.next_value_seed(self).map(Some))?;
        }
        Ok(())
    }
}

impl Place<'_> {
    /// Whether there was something one step down.
    fn step<E: de::Error>(self, step: Step, read: impl FnOnce() -> Result<Option<()>, E>) -> Result<bool, E> {
        if self.0.steps.borrow().len() >= MAX_DEPTH {
            self.0.is_too_deep.set(true);
            return Err(E::custom("nested too deep"));
        }
        self.0.steps.borrow_mut().push(step);
        let found = read()?;
        self.0.steps.borrow_mut().pop();
        Ok(found.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(open: &str, close: &str, depth: usize) -> String {
        open.repeat(depth) + &close.repeat(depth)
    }

    #[test]
    fn toml_is_read_down_to_a_depth() {
        let deep = |text: &str| check_toml(text).map_err(|beyond| (beyond.field, beyond.what));
        for depth in [1, MAX_DEPTH] {
            assert_eq!(deep(&format!("x = {}", nested("[", "]", depth))), Ok(()));
            assert_eq!(deep(&format!("[{}]", vec!["a"; depth].join("."))), Ok(()));
        }
        let too_deep = |field: &str, depth| Err((field.to_owned(), format!("is nested {depth} deep")));
        assert_eq!(deep(&format!("x = {}", nested("[", "]", 500))), too_deep("x", 500));
        assert_eq!(deep(&format!("[q]\nx = {}", nested("[\n", "]", 64))), too_deep("q.x", 65));
        assert_eq!(deep(&format!("x = {}1{}", "{y=".repeat(90), "}".repeat(90))), too_deep("x", 90));
        assert_eq!(deep(&format!("x = {{ {} = 1 }}", vec!["b"; 70].join("."))), too_deep("x", 70));
        assert!(deep(&vec!["a"; 100_000].join(".")).is_err());
        assert!(deep(&format!("[{}]", vec!["a"; 100_000].join("."))).is_err());
        // Brackets in texts and comments are none, and neither are points in numbers.
        let none = format!("# {0}\nx = '{0}'\ny = \"{0}\"\nz = '''\n{0}'''", "[".repeat(500));
        assert_eq!(deep(&none), Ok(()));
        assert_eq!(deep(&format!("x = [{}1.5]", "1.5, ".repeat(500))), Ok(()));
        assert_eq!(deep(&"[[groups]]\nx = [1, 2]\n".repeat(500)), Ok(()));
    }

    #[test]
    fn a_long_number_is_named_by_its_field() {
        let long = "7".repeat(5000);
        for (text, field) in [
            (format!("[a.b]\nc.d = {long}"), "a.b.c.d"),
            (format!("x = [1, {long}]"), "x"),
            (format!("x = -{long}"), "x"),
        ] {
            let beyond = check_toml(&text).unwrap_err();
            assert_eq!(beyond.field, field);
            assert!(beyond.what.starts_with("is a number of 500"), "{beyond:?}");
        }
        assert_eq!(check_toml(&format!("x = '{long}'\n{long} = 1")), Ok(()));
    }

    #[test]
    fn the_field_of_an_offset_is_known() {
        let text = "a = 1\n[b.c]\nd = [1,\n 2]\ne.f = 3\n";
        for (what, field) in [("1", "a"), ("[1", "b.c.d"), ("2]", "b.c.d"), ("3", "b.c.e.f")] {
            assert_eq!(toml_field(text, text.find(what).unwrap()), field, "{what}");
        }
    }

    #[test]
    fn json_is_read_down_to_a_depth_and_its_places_are_named() {
        assert_eq!(check_json("{\"a\": [1, 2.5, null, true, \"[[\"], \"b\": {}}"), Ok(()));
        assert_eq!(check_json(&nested("[", "]", MAX_DEPTH)), Ok(()));
        assert_eq!(
            check_json(&format!("{{\"a\": {}}}", nested("[", "]", 500))),
            Err("a.0.0.0.0.0.0.0 is nested 501 deep, above 64".into())
        );
        assert!(check_json(&nested("[", "]", 1_000_000)).is_err());
        let long = check_json(&format!("{{\"runs\": [{{\"seed\": {}}}]}}", "7".repeat(5000))).unwrap_err();
        assert!(long.starts_with("runs.0.seed: number out of range"), "{long}");
        for text in ["", "{", "[1", "[1]]", "{\"a\": NaN}", "{\"a\": 1, }"] {
            assert!(check_json(text).is_err(), "{text}");
        }
    }
}
