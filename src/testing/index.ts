/** The public names of `kindred/testing`. */

/** The conversions of a model with several versions, tried on random objects. */
export { type ConversionOptions, conversionTests } from './conversions.ts';
/** Time that stands still until a test moves it. */
export { FakeClock } from './fake-clock.ts';
/** A whole service in the test's process. */
export { type Harness, type HarnessOptions, type HarnessRequest, startHarness } from './harness.ts';
/** API tests as data. */
export { type ExpectedResponse, runScenario, runScenarios, type Scenario } from './scenario.ts';
/** What every store must do, as test cases. */
export { type StoreAdapter, type StoreDatabase, storeContract } from './store-contract.ts';
/** Waiting for a state. */
export { type UntilOptions, until } from './until.ts';
