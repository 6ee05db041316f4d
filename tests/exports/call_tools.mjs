// Connects to `heaptap mcp` with the protocol's own SDK and calls tools: node call_tools.mjs HEAPTAP DIRECTORY CALLS. CALLS: a JSON list of
// [NAME, ARGUMENTS]. Prints as JSON what the server said of itself, its tools, and the result of each call, or its error's code.
import { createRequire } from 'node:module';
import path from 'node:path';

const require = createRequire(path.join(process.env.NODE_DIRECTORY, 'package.json'));
const { Client } = require('@modelcontextprotocol/sdk/client/index.js');
const { StdioClientTransport } = require('@modelcontextprotocol/sdk/client/stdio.js');

const [heaptap, directory, calls] = process.argv.slice(2);
const transport = new StdioClientTransport({ command: heaptap, args: ['mcp', directory], stderr: 'inherit' });
const wrong = [];
transport.onerror = error => wrong.push(String(error)); // what isn't a message of the protocol
const client = new Client({ name: 'test', version: '1' });
await client.connect(transport);
await client.ping();
const { tools } = await client.listTools();
const results = [];
for (const [name, args] of JSON.parse(calls)) {
  results.push(await client.callTool({ name, arguments: args }).catch(error => ({ code: error.code })));
}
// At once, as a client may.
const together = await Promise.all(JSON.parse(calls).map(([name, args]) => client.callTool({ name, arguments: args }).catch(error => ({ code: error.code }))));
const report = { server: client.getServerVersion(), capabilities: client.getServerCapabilities(), instructions: client.getInstructions(), tools, results, together, wrong };
await client.close();
console.log(JSON.stringify(report));
