//! H6 for calls that a codemode script makes: the model reads the script's output and never the nested results.
//!
//! A test of its own and no case, since the simulated Pi has no codemode.

use scenarios::case::Case;

use crate::gate::real_pi;
use crate::world::{MODEL, World, block_on, run, told};

/// A script calls a graph tool and one of Pi's own, and says what it got.
const NESTED: &str = r#"
title = "A script that calls tools"

[files]
"src/lib.rs" = "pub fn answer() {}"

[daemon]
calls = [{ tool = "search", text = "src/lib.rs:1", structured = { hits = 1 } }]

[hook]
decisions = [
  { tool = "search", decision = { additional_context = "GUIDE search" } },
  { tool = "Read", decision = { additional_context = "GUIDE read" } },
]

[[model]]
calls = [
  { id = "cm1", tool = "codemode", args = { code = """
const found = await tools.mcp__gortex__search({ query: "answer" });
const read = await tools.read({ path: "src/lib.rs" });
return { texts: found.content.map((block) => block.text), hits: found.structuredContent.hits, read };
""" } },
]

[[model]]
say = "Done."

[[person]]
prompt = "Look."
"#;

#[test]
fn h6_guidance_on_nested_calls_ends_the_result_of_the_script_and_never_enters_it() {
    let Some(pi) = real_pi() else { return };
    block_on(async {
        let case: Case = toml::from_str(NESTED).expect("a case");
        let world = World::new(&pi, &case).await;
        let package = pi.package.display().to_string();
        let arguments = ["-e", &package, "--tools", "+codemode", "-p", "Look."];
        let output = run(&mut world.pi(&[&MODEL[..], &arguments].concat())).await;
        assert!(output.status.success(), "{}", told(&output));

        let requests = world.requests();
        assert_eq!(requests.len(), 2, "{}", told(&output));
        let messages = requests[1].payload["messages"]
            .as_array()
            .expect("messages");
        let results: Vec<_> = messages
            .iter()
            .filter(|message| message["role"] == "tool")
            .collect();
        let [result] = results[..] else {
            panic!("one call was made by the model: {results:?}");
        };
        assert_eq!(result["tool_call_id"], "cm1");
        let text = result["content"].as_str().unwrap_or_default();
        let (head, output) = text.split_once("Output:").unwrap_or_default();
        assert!(head.starts_with("Script completed"), "{result}");
        let lines: Vec<&str> = output.split('\n').filter(|line| !line.is_empty()).collect();
        assert_eq!(
            lines,
            [
                r#"{"texts":["src/lib.rs:1"],"hits":1,"read":"pub fn answer() {}"}"#,
                "GUIDE search",
                "GUIDE read",
            ]
        );
    });
}
