//! Tells the linker that Node supplies the N-API symbols.
fn main() {
    napi_build::setup();
}
