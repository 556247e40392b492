//! Why arguments are no JSON, in the words of Node's own reader, for a text that was cut off.

use std::iter::Peekable;
use std::str::Chars;

/// Where a text ends that ought to go on.
enum Fault {
    /// What was expected there, and how far behind the end Node says it is.
    Cut(&'static str, usize),
    /// Nothing more is known where it is.
    End,
    /// It is wrong before its end.
    Wrong,
}

const STRING: &str = "Unterminated string";

/// What Node says of a text that is the beginning of a JSON text and not a whole one; `None` for any other text.
pub(super) fn why_cut_off(text: &str) -> Option<String> {
    let mut reader = Reader {
        rest: text.chars().peekable(),
    };
    match reader.value() {
        Ok(()) | Err(Fault::Wrong) => None,
        Err(Fault::End) => Some("Unexpected end of JSON input".to_owned()),
        Err(Fault::Cut(what, behind)) => {
            let units = |text: &str| text.encode_utf16().count();
            let line = text.matches('\n').count() + 1;
            let last = text.rsplit('\n').next().unwrap_or_default();
            Some(format!(
                "{what} in JSON at position {} (line {line} column {})",
                units(text) + behind,
                units(last) + behind + 1
            ))
        }
    }
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
}

impl Reader<'_> {
    /// The next sign that is no white space, which stays.
    fn peek(&mut self) -> Option<char> {
        while self
            .rest
            .next_if(|sign| " \t\r\n".contains(*sign))
            .is_some()
        {}
        self.rest.peek().copied()
    }

    fn value(&mut self) -> Result<(), Fault> {
        match self.peek().ok_or(Fault::End)? {
            '{' => self.object(),
            '[' => self.array(),
            '"' => self.string(),
            '-' | '0'..='9' => self.number(),
            't' => self.word("true"),
            'f' => self.word("false"),
            'n' => self.word("null"),
            _ => Err(Fault::Wrong),
        }
    }

    fn object(&mut self) -> Result<(), Fault> {
        self.rest.next();
        let mut expected = "Expected property name or '}'";
        if self.peek() == Some('}') {
            self.rest.next();
            return Ok(());
        }
        loop {
            match self.peek() {
                Some('"') => self.string()?,
                Some(_) => return Err(Fault::Wrong),
                None => return Err(Fault::Cut(expected, 0)),
            }
            self.sign(':', "Expected ':' after property name")?;
            self.value()?;
            if self.ends('}', "Expected ',' or '}' after property value")? {
                return Ok(());
            }
            expected = "Expected double-quoted property name";
        }
    }

    fn array(&mut self) -> Result<(), Fault> {
        self.rest.next();
        if self.peek() == Some(']') {
            self.rest.next();
            return Ok(());
        }
        loop {
            self.value()?;
            if self.ends(']', "Expected ',' or ']' after array element")? {
                return Ok(());
            }
        }
    }

    fn sign(&mut self, wanted: char, expected: &'static str) -> Result<(), Fault> {
        match self.peek() {
            Some(sign) if sign == wanted => drop(self.rest.next()),
            Some(_) => return Err(Fault::Wrong),
            None => return Err(Fault::Cut(expected, 0)),
        }
        Ok(())
    }

    /// Takes the end of a list, or the comma before its next item.
    fn ends(&mut self, end: char, expected: &'static str) -> Result<bool, Fault> {
        if self.peek() == Some(end) {
            self.rest.next();
            return Ok(true);
        }
        self.sign(',', expected).map(|()| false)
    }

    fn string(&mut self) -> Result<(), Fault> {
        self.rest.next();
        loop {
            match self.rest.next() {
                Some('"') => return Ok(()),
                // Pi mends an escape that is cut off by one more backslash before it gives up.
                Some('\\') => match self.rest.next() {
                    Some('u') => {
                        for _ in 0..4 {
                            let digit = self.rest.next().ok_or(Fault::Cut(STRING, 1))?;
                            if !digit.is_ascii_hexdigit() {
                                return Err(Fault::Wrong);
                            }
                        }
                    }
                    Some(_) => {}
                    None => return Err(Fault::Cut(STRING, 1)),
                },
                Some(sign) if sign.is_control() => return Err(Fault::Wrong),
                Some(_) => {}
                None => return Err(Fault::Cut(STRING, 0)),
            }
        }
    }

    fn number(&mut self) -> Result<(), Fault> {
        if self.rest.next_if_eq(&'-').is_some() {
            self.digits("No number after minus sign")?;
        } else {
            self.digits("")?;
        }
        if self.rest.next_if_eq(&'.').is_some() {
            self.digits("Unterminated fractional number")?;
        }
        if self.rest.next_if(|sign| "eE".contains(*sign)).is_some() {
            let _ = self.rest.next_if(|sign| "+-".contains(*sign));
            self.digits("Exponent part is missing a number")?;
        }
        Ok(())
    }

    fn digits(&mut self, missing: &'static str) -> Result<(), Fault> {
        match self.rest.peek() {
            None => return Err(Fault::Cut(missing, 0)),
            Some(sign) if !sign.is_ascii_digit() => return Err(Fault::Wrong),
            Some(_) => {}
        }
        while self.rest.next_if(char::is_ascii_digit).is_some() {}
        Ok(())
    }

    fn word(&mut self, word: &str) -> Result<(), Fault> {
        for sign in word.chars() {
            match self.rest.next() {
                Some(read) if read == sign => {}
                Some(_) => return Err(Fault::Wrong),
                None => return Err(Fault::End),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Recorded from Node 24.
    #[test]
    fn a_text_that_is_cut_off_reads_as_node_says_it() {
        let at = |what: &str, position: usize| {
            Some(format!(
                "{what} in JSON at position {position} (line 1 column {})",
                position + 1
            ))
        };
        let end = || Some("Unexpected end of JSON input".to_owned());
        for (text, said) in [
            ("", end()),
            ("{", at("Expected property name or '}'", 1)),
            ("{\"l", at(STRING, 3)),
            ("{\"limit\"", at("Expected ':' after property name", 8)),
            ("{\"limit\":", end()),
            (
                "{\"limit\":1",
                at("Expected ',' or '}' after property value", 10),
            ),
            ("{\"limit\":1.", at("Unterminated fractional number", 11)),
            (
                "{\"limit\":1.5e+",
                at("Exponent part is missing a number", 14),
            ),
            ("{\"a\":-", at("No number after minus sign", 6)),
            ("{\"a\":1,", at("Expected double-quoted property name", 7)),
            ("{\"a\":[tru", end()),
            ("[1,", end()),
            ("[1", at("Expected ',' or ']' after array element", 2)),
            ("{\"a\":\"\u{e9}", at(STRING, 7)),
            ("[1]", None),
            ("{a:1}", None),
        ] {
            assert_eq!(why_cut_off(text), said, "{text}");
        }
    }

    #[test]
    fn an_escape_that_is_cut_off_counts_as_mended() {
        let said = Some("Unterminated string in JSON at position 8 (line 1 column 9)".to_owned());
        assert_eq!(why_cut_off("{\"a\":\"\\"), said);
    }

    #[test]
    fn the_column_is_counted_from_the_last_line_break() {
        let said = Some(
            "Expected property name or '}' in JSON at position 2 (line 2 column 1)".to_owned(),
        );
        assert_eq!(why_cut_off("{\n"), said);
    }
}
