import type { Condition, CustomEndpoint, CustomRequest } from 'kindred';
import { GroupVersion, ListOptions, Queries, route, SortableRequest, Type } from 'kindred';
import { City, wordsOf } from './city.ts';

const regions = ['Africa', 'Americas', 'Asia', 'Europe', 'Oceania'];
const ranks = ['capital', 'seat', 'place'];

const Facet = Type.Array(Type.Object({ value: Type.String(), count: Type.Integer() }));
const Found = Type.Object({
  page: Type.Integer(),
  size: Type.Integer(),
  total: Type.Integer(),
  items: Type.Array(Type.Object({}, { additionalProperties: true })),
  facets: Type.Object({ region: Facet, rank: Facet }),
});
const Nearest = Type.Array(
  Type.Object({ name: Type.String(), city: Type.String(), country: Type.String(), kilometres: Type.Number() }),
);

/** The common list parameters and `keyword`: words of which a name has to contain each, the last one as far as it is typed. */
class CitySearch extends SortableRequest {
  readonly keyword: string;

  constructor(request: CustomRequest) {
    super(request);
    this.keyword = request.query.get('keyword') ?? '';
  }

  /** What is asked for, narrowed by one more condition. */
  narrowed(condition: Condition): ListOptions {
    const words = wordsOf(this.keyword);
    const options = this.listOptions().andQuery(condition);
    for (const word of words.slice(0, -1)) options.andQuery(Queries.equal('spec.words', word));
    const last = words.at(-1);
    if (last !== undefined) {
      options.andQuery(Queries.or(Queries.equal('spec.name', this.keyword), Queries.startsWith('spec.words', last)));
    }
    return options.build();
  }

  override toListOptions(): ListOptions {
    return this.narrowed(Queries.all());
  }
}

/** What the generated routes cannot answer: search by what people type, with facets, and the cities near one. */
export const citySearch: CustomEndpoint = {
  groupVersion: () => GroupVersion.parse('api.atlas.example.com/v1alpha1'),

  endpoint: () =>
    route()
      .GET('/cities/-/search', search, (d) =>
        SortableRequest.buildParameters(d)
          .operationId('SearchCities')
          .tag('CityV1alpha1Public')
          .description('Cities by the beginning of a word in their name, with their number by region and rank.')
          .parameter({
            name: 'keyword',
            in: 'query',
            description: 'As people type it',
            schema: { type: 'string', maxLength: 100 },
          })
          .response(Found),
      )
      .GET('/cities/{name}/nearest', nearest, (d) =>
        d
          .operationId('ListNearestCities')
          .tag('CityV1alpha1Public')
          .description('The cities nearest to one, nearest first.')
          .parameter({
            name: 'size',
            in: 'query',
            description: 'How many; default 5',
            schema: { type: 'integer', minimum: 1, maximum: 50 },
          })
          .response(Nearest),
      )
      .build(),
};

async function search(request: CustomRequest): Promise<unknown> {
  const { client } = request;
  const query = new CitySearch(request);
  const facet = (label: string, values: readonly string[]) =>
    Promise.all(
      values.map(async (value) => ({
        value,
        count: await client.count(City, query.narrowed(Queries.labelEqual(`atlas.example.com/${label}`, value))),
      })),
    );
  const [found, region, rank] = await Promise.all([
    client.list(City, query.toListOptions(), query.toPageRequest()),
    facet('region', regions),
    facet('rank', ranks),
  ]);
  return { ...found, facets: { region, rank } };
}

/** Values of one `in` are limited, so the widest square is 31 by 31 degrees. */
async function nearest({ client, params, query }: CustomRequest): Promise<unknown> {
  const name = params.name!;
  const size = Number(query.get('size') ?? 5);
  const from = (await client.get(City, name)).spec.location;
  // Ever larger squares, until the last one asked for is surely nearer than anything outside of them.
  for (let reach = 1; ; reach = Math.min(widest, reach * 3)) {
    const near: { name: string; city: string; country: string; kilometres: number }[] = [];
    const cells = Queries.in('spec.location.cell', cellsAround(from, reach));
    for await (const { metadata, spec } of client.listAll(City, ListOptions.builder().andQuery(cells).build())) {
      if (metadata.name === name) continue;
      const kilometres = Math.round(distance(from, spec.location) * 10) / 10;
      near.push({ name: metadata.name, city: spec.name, country: spec.country, kilometres });
    }
    near.sort((a, b) => a.kilometres - b.kilometres || (a.name < b.name ? -1 : 1));
    const certain = reach * 111 * Math.cos((Math.min(89, Math.abs(from.latitude) + reach) * Math.PI) / 180);
    if (reach >= widest || (near.length >= size && near[size - 1]!.kilometres <= certain)) return near.slice(0, size);
  }
}

/** Degrees; the most remote city has others within. */
const widest = 15;

interface Place {
  latitude: number;
  longitude: number;
}

function cellsAround({ latitude, longitude }: Place, reach: number): string[] {
  const cells: string[] = [];
  for (let north = -reach; north <= reach; north++) {
    for (let east = -reach; east <= reach; east++) {
      const column = ((Math.floor(longitude) + east + 540) % 360) - 180;
      cells.push(`${Math.floor(latitude) + north}:${column}`);
    }
  }
  return cells;
}

const earthRadius = 6371;

/** Kilometres along the great circle (haversine formula). */
function distance(a: Place, b: Place): number {
  const radians = Math.PI / 180;
  const latitude = Math.sin(((b.latitude - a.latitude) * radians) / 2) ** 2;
  const longitude = Math.sin(((b.longitude - a.longitude) * radians) / 2) ** 2;
  const h = latitude + Math.cos(a.latitude * radians) * Math.cos(b.latitude * radians) * longitude;
  return 2 * earthRadius * Math.asin(Math.sqrt(h));
}
