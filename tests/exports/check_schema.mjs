// Fails where a JSON file is not as a JSON schema says: node check_schema.mjs SCHEMA FILE
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import path from 'node:path';

const Ajv = createRequire(path.join(process.env.NODE_DIRECTORY, 'package.json'))('ajv').default;
const [schema, file] = process.argv.slice(2).map(name => JSON.parse(readFileSync(name, 'utf8')));
const ajv = new Ajv({ strict: false });
if (!ajv.validate(schema, file)) {
  console.error(JSON.stringify(ajv.errors, null, 1));
  process.exit(1);
}
