//! Tells the linker that Node supplies the N-API symbols, and the macros where to write the types that they export.

#[allow(clippy::disallowed_methods)] // cargo speaks to a build script through its environment
fn main() {
    napi_build::setup();
    // napi's own command line sets this variable for the whole build. Set here it reaches this crate alone, and every
    // build writes the types, so that a test can hold the package's typings against them.
    if let Some(out) = std::env::var_os("OUT_DIR").and_then(|out| out.into_string().ok()) {
        println!("cargo::rustc-env=NAPI_TYPE_DEF_TMP_FOLDER={out}");
    }
}
