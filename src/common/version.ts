/** Version of the broker; kept equal to package.json by a test. */
export const BROKER_VERSION = '0.1.0';
