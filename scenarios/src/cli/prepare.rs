//! Commands that get the real Pi: `setup`, `doctor`.

use std::io::{self, Write as _};

use serde_json::json;

use super::{Doctor, Setup, Stop, exit};
use crate::report::Format;
use crate::setup::{self, Finding};

pub(super) fn setup(options: &Setup) -> Result<u8, Stop> {
    let progress = setup::on_stderr();
    if options.for_tests {
        return Ok(setup::for_tests(&options.pi_version, &*progress));
    }
    let pi = setup::ensure(&options.pi_version, &*progress)?;
    drop(progress);
    let mut out = io::stdout().lock();
    match options.output.format {
        Format::Text => {
            writeln!(out, "Pi {} is ready; load the extension with", pi.version)?;
            writeln!(
                out,
                "  {} {} -e {}",
                pi.node.display(),
                pi.cli.display(),
                pi.package.display()
            )?;
        }
        Format::Json => {
            let summary = json!({
                "version": pi.version, "node": pi.node, "cli": pi.cli, "package": pi.package, "gortex": pi.gortex,
            });
            writeln!(out, "{}", json!({ "summary": summary }))?;
        }
    }
    Ok(exit::HELD)
}

pub(super) fn doctor(options: &Doctor) -> Result<u8, Stop> {
    let findings = setup::doctor(&options.pi_version)?;
    let missing = findings.iter().filter(|finding| !finding.ok).count();
    let mut out = io::stdout().lock();
    for finding in &findings {
        match options.output.format {
            Format::Text => {
                let mark = if finding.ok { "ok     " } else { "missing" };
                writeln!(out, "{mark}  {:<12} {}", finding.name, finding.detail)?;
                if let Some(remedy) = &finding.remedy {
                    writeln!(out, "         {:<12} remedy: {remedy}", "")?;
                }
            }
            Format::Json => {
                let Finding {
                    name,
                    ok,
                    detail,
                    remedy,
                } = finding;
                writeln!(
                    out,
                    "{}",
                    json!({ "name": name, "ok": ok, "detail": detail, "remedy": remedy })
                )?;
            }
        }
    }
    if options.output.format == Format::Json {
        let summary = json!({ "found": findings.len() - missing, "missing": missing });
        writeln!(out, "{}", json!({ "summary": summary }))?;
    }
    Ok(if missing == 0 {
        exit::HELD
    } else {
        exit::NO_HOST
    })
}
