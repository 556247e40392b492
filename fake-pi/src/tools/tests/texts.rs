//! `read`, `write`, `edit` and `ls`: limits, odd arguments and errors.

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::bench::Bench;

#[tokio::test(start_paused = true)]
async fn read_shows_the_lines_asked_for() {
    let bench = Bench::new();
    bench.write("f", "one\ntwo\nthree\n");
    assert_eq!(
        bench.text("read", json!({"path": "f"})).await,
        "one\ntwo\nthree\n"
    );
    let some = bench
        .run("read", json!({"path": "f", "offset": 2, "limit": 1}))
        .await
        .unwrap();
    let text = "two\n\n[2 more lines in file. Use offset=3 to continue.]";
    assert_eq!(some.content[0]["text"], text);
    assert_eq!(some.structured_content, Some(json!(text)));
    assert_eq!(some.details, None);
    assert_eq!(
        bench.text("read", json!({"path": "f", "offset": 4})).await,
        ""
    );
    assert_eq!(
        bench.text("read", json!({"path": "f", "limit": -1})).await,
        "one\ntwo\nthree\n\n[1 more lines in file. Use offset=4 to continue.]"
    );
    let all = bench.text("read", json!({"path": "f", "limit": 4})).await;
    assert_eq!(
        all, "one\ntwo\nthree\n",
        "nothing is left behind a limit that reaches the end"
    );
    let beyond = bench.error("read", json!({"path": "f", "offset": 5})).await;
    assert_eq!(beyond, "Offset 5 is beyond end of file (4 lines total)");
}

#[tokio::test(start_paused = true)]
async fn read_cuts_what_is_too_long() {
    let bench = Bench::new();
    let lines: String = (1..=3000).map(|number| format!("{number}\n")).collect();
    bench.write("lines", lines);
    let output = bench
        .run("read", json!({"path": "lines", "offset": 11}))
        .await
        .unwrap();
    let text = output.content[0]["text"].as_str().unwrap();
    assert!(text.starts_with("11\n"), "{text}");
    assert!(
        text.ends_with("\n2010\n\n[Showing lines 11-2010 of 3001. Use offset=2011 to continue.]")
    );
    let truncation = &output.details.unwrap()["truncation"];
    assert_eq!(
        (&truncation["truncatedBy"], &truncation["totalLines"]),
        (&json!("lines"), &json!(2990))
    );

    bench.write(
        "wide",
        format!("{}\n{}\n", "x".repeat(30_000), "y".repeat(30_000)),
    );
    let text = bench.text("read", json!({"path": "wide"})).await;
    assert!(
        text.ends_with("x\n\n[Showing lines 1-1 of 3 (50.0KB limit). Use offset=2 to continue.]")
    );

    bench.write("endless", "z".repeat(60_000));
    let text = bench.text("read", json!({"path": "endless"})).await;
    let expected =
        "[Line 1 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '1p' endless | head -c 51200]";
    assert_eq!(text, expected);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_told_as_node_tells_it() {
    let bench = Bench::new();
    let at = |name: &str| bench.path().join(name).display().to_string();
    let missing = bench.error("read", json!({"path": "no"})).await;
    assert_eq!(
        missing,
        format!("ENOENT: no such file or directory, access '{}'", at("no"))
    );
    assert_eq!(
        bench.error("read", json!({"path": "."})).await,
        "EISDIR: illegal operation on a directory, read"
    );
    let nothing = bench.error("read", json!({})).await;
    assert_eq!(
        nothing,
        "Cannot read properties of undefined (reading 'replace')"
    );
    rustix::fs::mknodat(
        rustix::fs::CWD,
        bench.path().join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let pipe = bench.error("read", json!({"path": "pipe"})).await;
    assert_eq!(
        pipe,
        format!("not a regular file: {}", at("pipe")),
        "a pipe would be read without end"
    );
}

#[tokio::test(start_paused = true)]
async fn write_makes_folders_and_fails_as_node_does() {
    let bench = Bench::new();
    bench.write("file", "x");
    let at = |name: &str| bench.path().join(name).display().to_string();
    let inside = bench
        .error("write", json!({"path": "file/below", "content": "x"}))
        .await;
    assert_eq!(
        inside,
        format!("EEXIST: file already exists, mkdir '{}'", at("file"))
    );
    let folder = bench
        .error("write", json!({"path": ".", "content": "x"}))
        .await;
    assert_eq!(
        folder,
        format!(
            "EISDIR: illegal operation on a directory, open '{}'",
            bench.path().display()
        )
    );
    assert_eq!(
        bench
            .text("write", json!({"path": "~/a", "content": "x"}))
            .await,
        "Successfully wrote to ~/a"
    );
    assert_eq!(bench.read("a").as_deref(), Some("x"));
}

#[tokio::test(start_paused = true)]
async fn nothing_starts_after_an_abort() {
    let bench = Bench::new();
    bench.write("f", "a");
    let aborted = CancellationToken::new();
    aborted.cancel();
    let inputs = [
        ("read", json!({"path": "f"})),
        ("write", json!({"path": "f", "content": "b"})),
        (
            "edit",
            json!({"path": "f", "edits": [{"oldText": "a", "newText": "b"}]}),
        ),
        ("ls", json!({})),
        ("grep", json!({"pattern": "a"})),
        ("find", json!({"pattern": "f"})),
    ];
    for (tool, input) in inputs {
        let error = bench
            .start(tool, input, aborted.clone())
            .0
            .await
            .unwrap_err();
        assert_eq!(error.0, "Operation aborted", "{tool}");
    }
    assert_eq!(bench.read("f").as_deref(), Some("a"));
}

/// Edits a file with this content and returns the text or the error, and the file afterwards.
async fn edited(content: &str, edits: Value) -> (String, String) {
    let bench = Bench::new();
    bench.write("f", content);
    let text = match bench
        .run("edit", json!({"path": "f", "edits": edits}))
        .await
    {
        Ok(output) => output.content[0]["text"].as_str().unwrap().to_owned(),
        Err(error) => error.0,
    };
    (text, bench.read("f").unwrap())
}

#[tokio::test(start_paused = true)]
async fn edits_of_one_call_must_be_apart() {
    let (text, after) = edited(
        "abcdef\n",
        json!([{"oldText": "abc", "newText": "x"}, {"oldText": "cde", "newText": "y"}]),
    )
    .await;
    let overlap =
        "edits[0] and edits[1] overlap in f. Merge them into one edit or target disjoint regions.";
    assert_eq!((text.as_str(), after.as_str()), (overlap, "abcdef\n"));
    let (text, _) = edited(
        "a\n",
        json!([{"oldText": "a", "newText": "b"}, {"oldText": "", "newText": "y"}]),
    )
    .await;
    assert_eq!(text, "edits[1].oldText must not be empty in f.");
    let (text, after) = edited(
        "a b\n",
        json!([{"oldText": "b", "newText": "B"}, {"oldText": "a", "newText": "A"}]),
    )
    .await;
    assert_eq!(
        (text.as_str(), after.as_str()),
        ("Successfully replaced 2 block(s) in f.", "A B\n")
    );
}

#[tokio::test(start_paused = true)]
async fn lines_that_are_not_touched_keep_their_bytes() {
    let mixed = "a\r\nb “x”  \nc \r\nd\n";
    let (_, after) = edited(
        mixed,
        json!([{"oldText": "b \"x\"\n", "newText": "B\nBB\n"}]),
    )
    .await;
    assert_eq!(after, "a\r\nB\nBB\nc \r\nd\n");
    let (_, after) = edited(
        "a\r\nb\r\nc",
        json!([{"oldText": "a\nb", "newText": "1\n2\n3"}]),
    )
    .await;
    assert_eq!(after, "1\r\n2\r\n3\r\nc");
    let (_, after) = edited("a\rb\rc", json!([{"oldText": "b", "newText": "x\ny"}])).await;
    assert_eq!(after, "a\rx\ry\rc");
    let (_, after) = edited("a\rX\nb\n", json!([{"oldText": "X\nb", "newText": "\nb"}])).await;
    assert_eq!(
        after, "a\r\n\nb\n",
        "a CR and an LF that meet stay two line ends"
    );
}

#[tokio::test(start_paused = true)]
async fn characters_that_mean_the_same_match() {
    let (_, after) = edited(
        "ﬁne\u{a0}—\nkept ﬁ\n",
        json!([{"oldText": "fine -", "newText": "good"}]),
    )
    .await;
    assert_eq!(after, "good\nkept ﬁ\n");
}

/// Found by running the real tool on files that it finds odd.
#[tokio::test(start_paused = true)]
async fn a_loose_match_needs_lines_that_answer_to_each_other() {
    let fewer =
        "Cannot preserve unchanged lines because the base content has a different line count.";
    let outside = "Replacement range is outside the base content.";
    let cases = [
        ("bac\n\n ", "c\n\n\u{a0}", fewer),
        (" ", "\u{a0}", fewer),
        ("", "  ", outside),
    ];
    for (content, old, error) in cases {
        let edits = json!([{"oldText": old, "newText": "x"}]);
        let (text, after) = edited(content, edits).await;
        assert_eq!((text.as_str(), after.as_str()), (error, content));
    }
}

#[tokio::test(start_paused = true)]
async fn odd_forms_of_edits_are_read() {
    for edits in [
        json!("[{\"oldText\":\"a\",\"newText\":\"b\"}]"),
        json!({"oldText": "a", "newText": "b"}),
    ] {
        let (_, after) = edited("a\n", edits).await;
        assert_eq!(after, "b\n");
    }
    let (text, _) = edited("a\n", json!("nonsense")).await;
    assert_eq!(
        text,
        "Edit tool input is invalid. edits must contain at least one replacement."
    );
    let (text, _) = edited("a\n", json!([{"oldText": "a"}])).await;
    assert_eq!(
        text,
        "Cannot read properties of undefined (reading 'replace')"
    );
}

#[tokio::test(start_paused = true)]
async fn ls_lists_and_limits() {
    let bench = Bench::new();
    assert_eq!(bench.text("ls", json!({})).await, "(empty directory)");
    for name in ["b.ts", "A.ts", ".git", "c"] {
        bench.write(name, "");
    }
    std::fs::create_dir(bench.path().join("dir")).unwrap();
    std::os::unix::fs::symlink("nowhere", bench.path().join("dangling")).unwrap();
    assert_eq!(
        bench.text("ls", json!({})).await,
        ".git\nA.ts\nb.ts\nc\ndir/"
    );
    let some = bench.run("ls", json!({"limit": 2})).await.unwrap();
    assert_eq!(
        some.content[0]["text"],
        ".git\nA.ts\n\n[2 entries limit reached. Use limit=4 for more]"
    );
    assert_eq!(some.details, Some(json!({"entryLimitReached": 2})));
    assert_eq!(
        bench.text("ls", json!({"limit": 5})).await,
        ".git\nA.ts\nb.ts\nc\ndir/"
    );
    let at = |name: &str| bench.path().join(name).display().to_string();
    assert_eq!(
        bench.error("ls", json!({"path": "no"})).await,
        format!("Path not found: {}", at("no"))
    );
    assert_eq!(
        bench.error("ls", json!({"path": "c"})).await,
        format!("Not a directory: {}", at("c"))
    );
}
