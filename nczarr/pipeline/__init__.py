"""Operations on datasets, each verb once: a request goes in, a result or diagnostics come out."""
