// A mutant is found by the first failure: nobody reads how short it could be told.
import fc from 'fast-check'

fc.configureGlobal({ ...fc.readConfigureGlobal(), endOnFailure: true })
