//! The addon and the scripted daemon, built by cargo, and the addon put where Pi's package looks for it.

use std::{
    env,
    ffi::OsString,
    fs::{self, File, Permissions},
    io::{self, BufReader, Read},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::Command,
    time::Duration,
};

use crate::interrupt::Interrupt;

use super::{
    Progress, SetupError,
    child::{self, Failed},
    layout::Layout,
};

/// A cold release build on a slow machine.
const LIMIT: Duration = Duration::from_secs(60 * 60);

/// The cargo that builds: the one that runs this program, if cargo runs it, else the one on `PATH`.
pub(super) fn cargo() -> OsString {
    env::var_os("CARGO")
        .filter(|cargo| !cargo.is_empty())
        .unwrap_or_else(|| "cargo".into())
}

/// Builds both and puts the addon in place. Costs little when nothing changed: cargo sees that by itself.
pub(super) fn ensure(
    layout: &Layout,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<(), SetupError> {
    let manifest = layout.package().join("package.json");
    if !manifest.is_file() {
        return Err(SetupError::PackageMissing { path: manifest });
    }
    progress.step("building the addon and fake-gortex");
    build(layout, interrupt)?;
    for path in [layout.built_addon(), layout.gortex()] {
        if !path.is_file() {
            return Err(SetupError::ArtifactMissing { path });
        }
    }
    place(&layout.built_addon(), &layout.addon())
}

/// The whole workspace is named, though two crates would do: only so are the features of shared dependencies those of
/// every other build here, and nothing is compiled twice.
fn build(layout: &Layout, interrupt: &Interrupt) -> Result<(), SetupError> {
    let profile = if cfg!(debug_assertions) {
        "dev"
    } else {
        "release"
    };
    let what = [
        "build",
        "--workspace",
        "--lib",
        "--bins",
        "--profile",
        profile,
    ];
    run_cargo(layout, &what, interrupt)
}

/// Cargo with these arguments, which build something, into the checkout's target folder.
pub(super) fn run_cargo(
    layout: &Layout,
    what: &[&str],
    interrupt: &Interrupt,
) -> Result<(), SetupError> {
    let cargo = cargo();
    let mut command = Command::new(&cargo);
    command
        .args(what)
        .args(["--color=never", "--target-dir"])
        .arg(&layout.target)
        .current_dir(&layout.root);
    let ended = child::run(&mut command, LIMIT, interrupt).map_err(|failed| match failed {
        Failed::Missing => SetupError::CargoMissing,
        Failed::Io(source) => SetupError::Io {
            action: "run",
            path: cargo.into(),
            source,
        },
        Failed::TimedOut => SetupError::TimedOut {
            what: "cargo",
            seconds: LIMIT.as_secs(),
        },
        Failed::Interrupted => SetupError::Interrupted,
    })?;
    if ended.status.success() {
        return Ok(());
    }
    Err(SetupError::BuildFailed {
        status: ended.status.to_string(),
        tail: ended.tail(),
    })
}

/// Copies `built` to `place` unless the same bytes are there. A Pi that runs keeps the file it opened, for the new one
/// takes the name in one step.
pub(super) fn place(built: &Path, place: &Path) -> Result<(), SetupError> {
    if same(built, place).map_err(SetupError::io("compare", place))? {
        return Ok(());
    }
    let folder = place.parent().unwrap_or(Path::new("."));
    let mut fresh = tempfile::Builder::new()
        .prefix(".addon-")
        .suffix(".node")
        .permissions(Permissions::from_mode(0o755))
        .tempfile_in(folder)
        .map_err(SetupError::io("write into", folder))?;
    let mut source = File::open(built).map_err(SetupError::io("read", built))?;
    io::copy(&mut source, fresh.as_file_mut()).map_err(SetupError::io("write", place))?;
    fresh
        .persist(place)
        .map_err(|error| SetupError::io("put in place", place)(error.error))?;
    Ok(())
}

/// Whether both files hold the same bytes; a second one that is absent does not.
pub(super) fn same(one: &Path, other: &Path) -> io::Result<bool> {
    let length = match fs::metadata(other) {
        Ok(metadata) if metadata.is_file() => metadata.len(),
        Ok(_) => return Ok(false),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    if fs::metadata(one)?.len() != length {
        return Ok(false);
    }
    let mut one = BufReader::new(File::open(one)?);
    let mut other = BufReader::new(File::open(other)?);
    let (mut left, mut right) = ([0; 64 * 1024], [0; 64 * 1024]);
    loop {
        let read = one.read(&mut left)?;
        if read == 0 {
            return Ok(other.read(&mut right)? == 0);
        }
        // A file that shrank meanwhile is another file.
        match other.read_exact(&mut right[..read]) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            result => result?,
        }
        if left[..read] != right[..read] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::fs::MetadataExt, sync::Arc};

    use super::{super::Silent, *};

    #[test]
    fn the_addon_is_replaced_only_when_it_differs_and_never_written_into() {
        let folder = tempfile::tempdir().expect("a folder");
        let (built, placed) = (
            folder.path().join("built.so"),
            folder.path().join("placed.node"),
        );
        let inode = || fs::metadata(&placed).expect("there").ino();
        fs::write(&built, "one").expect("written");
        place(&built, &placed).expect("placed");
        assert_eq!(fs::read(&placed).expect("read"), b"one");
        let opened = File::open(&placed).expect("opened");
        let first = inode();

        place(&built, &placed).expect("placed");
        assert_eq!(inode(), first, "the same bytes stay the same file");

        fs::write(&built, "two").expect("written");
        place(&built, &placed).expect("placed");
        assert_eq!(fs::read(&placed).expect("read"), b"two");
        assert_eq!(
            io::read_to_string(opened).expect("read"),
            "one",
            "who had it open keeps it"
        );
        let files = fs::read_dir(folder.path()).expect("listed").count();
        assert_eq!(files, 2, "no temporary file stays");
    }

    #[test]
    fn files_are_the_same_by_their_bytes_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        let mut bytes = vec![7; 200_000];
        fs::write(&one, &bytes).expect("written");
        assert!(!same(&one, &other).expect("compared"), "absent");
        fs::write(&other, &bytes).expect("written");
        assert!(same(&one, &other).expect("compared"));
        bytes[199_999] = 8;
        fs::write(&other, &bytes).expect("written");
        assert!(!same(&one, &other).expect("compared"), "the last byte");
        fs::write(&other, &bytes[..199_999]).expect("written");
        assert!(!same(&one, &other).expect("compared"), "shorter");
        fs::remove_file(&one).expect("removed");
        assert!(same(&one, &other).is_err(), "nothing to compare with");
    }

    #[test]
    fn a_checkout_without_the_package_is_not_built() {
        let folder = tempfile::tempdir().expect("a folder");
        let layout = Layout {
            root: folder.path().to_owned(),
            target: folder.path().join("target"),
        };
        let interrupt = Interrupt::by_hand(Arc::default());
        let error = ensure(&layout, &Silent, &interrupt).expect_err("refused");
        assert!(
            matches!(error, SetupError::PackageMissing { .. }),
            "{error:?}"
        );
    }
}
