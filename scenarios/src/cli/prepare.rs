//! Commands that get the real Pi and pack the extension for it: `setup`, `pack`, `doctor`.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde_json::json;

use super::{Doctor, Pack, Setup, Stop, exit};
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

pub(super) fn pack(options: &Pack) -> Result<u8, Stop> {
    let progress = setup::on_stderr();
    let archives = setup::pack(&options.to, &*progress)?;
    drop(progress);
    let weigh = |path: &Path| fs::metadata(path).map_or(0, |about| about.len());
    let mut out = io::stdout().lock();
    match options.output.format {
        Format::Text => {
            for path in [&archives.whole, &archives.entry, &archives.native] {
                writeln!(out, "{:>9} bytes  {}", weigh(path), path.display())?;
            }
            writeln!(out, "Install the first with")?;
            writeln!(
                out,
                "  pi install npm:gortex-pi@file:{}",
                archives.whole.display()
            )?;
        }
        Format::Json => {
            let summary = json!({
                "whole": archives.whole, "entry": archives.entry, "native": archives.native,
                "bytes": weigh(&archives.whole),
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
