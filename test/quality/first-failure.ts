// The first failure finds a mutant, so fast-check need not shrink it.
import fc from 'fast-check'

fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true })
