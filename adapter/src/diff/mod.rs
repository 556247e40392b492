//! Line diffs in the format of Pi's edit tool.
