//! Server-sent events, read as Pi reads them: lines end in LF, CRLF or a lone CR; only data makes an event.

/// One event.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SseEvent {
    /// Its type; none is a message.
    pub(super) kind: Option<String>,
    /// Its data, lines joined.
    pub(super) data: String,
}

/// What a stream said of itself so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Cursor {
    /// The id given last, by which a stream is taken up again.
    pub(super) last_id: Option<String>,
    /// Milliseconds that the server wants to pass before that.
    pub(super) retry_ms: Option<u64>,
    /// Whether an event came since the stream was opened.
    pub(super) received: bool,
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
    pub(super) fn push(&mut self, bytes: &[u8], cursor: &mut Cursor) -> Vec<SseEvent> {
        let mut events = Vec::new();
        for &byte in bytes {
            let skips = std::mem::replace(&mut self.skips_lf, byte == b'\r');
            match byte {
                b'\n' if skips => {}
                b'\n' | b'\r' => {
                    let line = std::mem::take(&mut self.pending);
                    events.extend(self.line(&line, cursor));
                }
                other => self.pending.push(other),
            }
        }
        events
    }

    /// Ends the stream: what is unfinished counts as finished.
    pub(super) fn end(&mut self, cursor: &mut Cursor) -> Vec<SseEvent> {
        let line = std::mem::take(&mut self.pending);
        let mut events = Vec::new();
        if !line.is_empty() {
            events.extend(self.line(&line, cursor));
        }
        events.extend(self.event(cursor));
        events
    }

    /// Bytes that are held for an event that has not ended.
    pub(super) fn held(&self) -> usize {
        self.pending.len() + self.data.iter().map(String::len).sum::<usize>()
    }

    fn line(&mut self, line: &[u8], cursor: &mut Cursor) -> Option<SseEvent> {
        let line = String::from_utf8_lossy(line);
        if line.is_empty() {
            return self.event(cursor);
        }
        if line.starts_with(':') {
            return None;
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => self.data.push(value.to_owned()),
            "event" => self.kind = Some(value.to_owned()).filter(|kind| !kind.is_empty()),
            "id" if !value.contains('\0') => cursor.last_id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) => {
                cursor.retry_ms = value.parse().ok();
            }
            _ => {}
        }
        None
    }

    fn event(&mut self, cursor: &mut Cursor) -> Option<SseEvent> {
        let (kind, data) = (self.kind.take(), std::mem::take(&mut self.data));
        if data.is_empty() {
            return None;
        }
        cursor.received = true;
        Some(SseEvent {
            kind,
            data: data.join("\n"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(chunks: &[&str]) -> (Vec<SseEvent>, Cursor) {
        let (mut parser, mut cursor) = (SseParser::default(), Cursor::default());
        let mut events: Vec<SseEvent> = Vec::new();
        for chunk in chunks {
            events.extend(parser.push(chunk.as_bytes(), &mut cursor));
        }
        events.extend(parser.end(&mut cursor));
        (events, cursor)
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
        let (found, cursor) = events(&[":note\nid: 7\nretry: 50\nretry: x\n\ndata: z"]);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].data, "z");
        assert_eq!(
            (cursor.last_id.as_deref(), cursor.retry_ms, cursor.received),
            (Some("7"), Some(50), true)
        );
        let (none, cursor) = events(&["id: 1\n\nevent: ping\n\n"]);
        assert_eq!((none, cursor.received), (vec![], false));
    }
}
