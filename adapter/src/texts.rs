//! Every sentence that the model or a person reads.
