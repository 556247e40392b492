//! The events of a stream, put together byte by byte: CR, LF or both end a line, and an event without data is none.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SseEvent {
    /// Its type; none is a message.
    pub(super) kind: Option<String>,
    /// Its data, lines joined.
    pub(super) data: String,
}

/// Where a reader of a stream stands, for the case that it has to come back.
#[derive(Debug, Clone, Default)]
pub(super) struct Bookmark {
    /// The newest id that the stream named.
    pub(super) id: Option<String>,
    /// The server's wish how many milliseconds the reader stays away.
    pub(super) away_ms: Option<u64>,
    /// Whether there was an event at all since somebody last looked.
    pub(super) moved: bool,
}

/// Bytes of a stream, cut into events.
#[derive(Debug, Default)]
pub(super) struct SseParser {
    pending: Vec<u8>,
    /// The line before ended in a CR, whose LF may still come.
    skips_lf: bool,
    kind: Option<String>,
    data: Vec<String>,
}

impl SseParser {
    /// Takes the next bytes; gives the events that they end.
    pub(super) fn push(&mut self, bytes: &[u8], bookmark: &mut Bookmark) -> Vec<SseEvent> {
        let mut events = Vec::new();
        for &byte in bytes {
            let skips = std::mem::replace(&mut self.skips_lf, byte == b'\r');
            match byte {
                b'\n' if skips => {}
                b'\n' | b'\r' => {
                    let line = std::mem::take(&mut self.pending);
                    events.extend(self.line(&line, bookmark));
                }
                other => self.pending.push(other),
            }
        }
        events
    }

    /// Ends the stream: what is unfinished counts as finished.
    pub(super) fn end(&mut self, bookmark: &mut Bookmark) -> Vec<SseEvent> {
        let line = std::mem::take(&mut self.pending);
        let mut events = Vec::new();
        if !line.is_empty() {
            events.extend(self.line(&line, bookmark));
        }
        events.extend(self.event(bookmark));
        events
    }

    /// Bytes that are held for an event that has not ended.
    pub(super) fn held(&self) -> usize {
        self.pending.len() + self.data.iter().map(String::len).sum::<usize>()
    }

    fn line(&mut self, line: &[u8], bookmark: &mut Bookmark) -> Option<SseEvent> {
        let line = String::from_utf8_lossy(line);
        if line.is_empty() {
            return self.event(bookmark);
        }
        if line.starts_with(':') {
            return None;
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => self.data.push(value.to_owned()),
            "event" => self.kind = Some(value.to_owned()).filter(|kind| !kind.is_empty()),
            "id" if !value.contains('\0') => bookmark.id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                bookmark.away_ms = value.parse().ok();
            }
            _ => {}
        }
        None
    }

    fn event(&mut self, bookmark: &mut Bookmark) -> Option<SseEvent> {
        let (kind, data) = (self.kind.take(), std::mem::take(&mut self.data));
        if data.is_empty() {
            return None;
        }
        bookmark.moved = true;
        Some(SseEvent {
            kind,
            data: data.join("\n"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(chunks: &[&str]) -> (Vec<SseEvent>, Bookmark) {
        let (mut parser, mut bookmark) = (SseParser::default(), Bookmark::default());
        let mut events: Vec<SseEvent> = Vec::new();
        for chunk in chunks {
            events.extend(parser.push(chunk.as_bytes(), &mut bookmark));
        }
        events.extend(parser.end(&mut bookmark));
        (events, bookmark)
    }

    #[test]
    fn lines_end_in_three_ways_wherever_the_chunks_end() {
        let (found, _) = events(&["data: a\r", "\ndata:b\r\r", "event: x\ndata: c\n", "\n"]);
        let datas: Vec<(Option<&str>, &str)> = found
            .iter()
            .map(|event| (event.kind.as_deref(), event.data.as_str()))
            .collect();
        assert_eq!(datas, [(None, "a\nb"), (Some("x"), "c")]);
    }

    #[test]
    fn ids_and_delays_are_kept_and_an_unfinished_event_counts() {
        let (found, bookmark) = events(&[":note\nid: 7\nretry: 50\nretry: x\n\ndata: z"]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].data, "z");
        assert_eq!(
            (bookmark.id.as_deref(), bookmark.away_ms, bookmark.moved),
            (Some("7"), Some(50), true)
        );
        let (none, bookmark) = events(&["id: 1\n\nevent: ping\n\n"]);
        assert_eq!((none, bookmark.moved), (vec![], false));
    }
}
