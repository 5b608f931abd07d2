// Print what a generated reader finds: `node reader_run.js MODULE FUNCTION STORE`, values of each array by its path.
import FileSystemStore from "@zarrita/storage/fs";
import * as zarr from "zarrita";

type Group = Readonly<Record<string, unknown>>;

async function collect(group: Group, path: string, found: Record<string, unknown>): Promise<void> {
    for (const [name, member] of Object.entries(group)) {
        const own = `${path}/${name}`;
        if (name === "attributes") {
            found[`${path}/`] = member;
        } else if ("values" in (member as Group)) {
            const array = (member as { values: zarr.Array<zarr.DataType, zarr.Readable> }).values;
            const read = await zarr.get(array);
            const data = typeof read === "object" && read !== null && "data" in read ? [...(read.data as Iterable<unknown>)] : [read];
            found[own] = data.map((value) => (typeof value === "bigint" ? `${value}` : value));
        } else {
            await collect(member as Group, own, found);
        }
    }
}

const [module, name, ...stores] = process.argv.slice(2) as [string, string, ...string[]];
const open = (await import(module))[name] as (store: zarr.Readable) => Promise<Group>;
for (const store of stores) {
    try {
        const found: Record<string, unknown> = {};
        await collect(await open(new FileSystemStore(store)), "", found);
        console.log(JSON.stringify(found));
    } catch (error) {
        console.log(JSON.stringify({ error: String(error) }));
    }
}
